//! An issuer of test tokens: what an authorizer of API Gateway asks of an issuer, and nobody's secrets.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

/// The name of the one key.
const KEY_ID: &str = "test";
/// How long a token is good that does not say so itself.
const TOKEN_SECONDS: u64 = 3_600;

/// Signs tokens with a key made when it was opened, so that none outlives the process.
#[derive(Debug)]
pub struct Issuer {
    url: String,
    key: KeyPair,
}

impl Issuer {
    /// An issuer that answers at `url`, with a new key.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn open(url: String) -> Result<Issuer, Unspecified> {
        Ok(Issuer { url, key: KeyPair::generate(KeySize::Rsa2048)? })
    }

    /// The discovery document, by which the keys are found.
    #[must_use]
    pub fn discovery(&self) -> Value {
        json!({
            "issuer": self.url,
            "jwks_uri": format!("{}/.well-known/jwks.json", self.url),
            "id_token_signing_alg_values_supported": ["RS256"],
        })
    }

    /// The public keys.
    #[must_use]
    pub fn keys(&self) -> Value {
        let public = self.key.public_key();
        json!({"keys": [{
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": KEY_ID,
            "n": URL_SAFE_NO_PAD.encode(public.modulus().big_endian_without_leading_zero()),
            "e": URL_SAFE_NO_PAD.encode(public.exponent().big_endian_without_leading_zero()),
        }]})
    }

    /// A token of `claims`, which stand above what it says itself: its issuer, and an hour from now.
    ///
    /// # Errors
    /// When it cannot be signed.
    pub fn token(&self, claims: Map<String, Value>) -> Result<String, Unspecified> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut says = json!({"iss": self.url, "iat": now, "exp": now + TOKEN_SECONDS});
        says.as_object_mut().into_iter().for_each(|says| says.extend(claims.clone()));
        let header = json!({"alg": "RS256", "typ": "JWT", "kid": KEY_ID});
        let signed = format!("{}.{}", encoded(&header), encoded(&says));
        let mut signature = vec![0; self.key.public_modulus_len()];
        self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rsa::PublicKeyComponents;
    use aws_lc_rs::signature::RSA_PKCS1_2048_8192_SHA256;

    use super::*;

    fn decoded(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).expect("base64url")
    }

    #[test]
    fn a_token_is_verified_by_the_published_key_and_says_what_it_was_told() {
        let issuer = Issuer::open("http://issuer".to_owned()).expect("a key");
        let claims = json!({"aud": "shop", "role": "operator", "exp": 1});
        let token = issuer.token(claims.as_object().expect("claims").clone()).expect("a token");
        let (signed, signature) = token.rsplit_once('.').expect("a signature");
        let keys = issuer.keys();
        let part = |name: &str| decoded(keys["keys"][0][name].as_str().expect("a number"));
        let key = PublicKeyComponents { n: part("n"), e: part("e") };
        assert!(key.verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &decoded(signature)).is_ok());
        assert!(key.verify(&RSA_PKCS1_2048_8192_SHA256, b"another", &decoded(signature)).is_err());
        let (header, says) = signed.split_once('.').expect("two parts");
        let [header, says]: [Value; 2] =
            [header, says].map(|part| serde_json::from_slice(&decoded(part)).expect("JSON"));
        assert_eq!(header["kid"], keys["keys"][0]["kid"]);
        assert_eq!((&says["iss"], &says["role"]), (&json!("http://issuer"), &json!("operator")));
        assert_eq!(says["exp"], 1, "a token may be told to have expired");
    }
}
