//! The names of embedded resources: ARNs and queue URLs of one region and account.

/// The region and account everything embedded belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) region: String,
    pub(crate) account: String,
}

impl Names {
    pub(crate) fn queue_url(&self, queue: &str) -> String {
        format!("https://sqs.{}.amazonaws.com/{}/{queue}", self.region, self.account)
    }

    pub(crate) fn queue_arn(&self, queue: &str) -> String {
        format!("arn:aws:sqs:{}:{}:{queue}", self.region, self.account)
    }

    pub(crate) fn schedule_arn(&self, group: &str, name: &str) -> String {
        format!("arn:aws:scheduler:{}:{}:schedule/{group}/{name}", self.region, self.account)
    }

    pub(crate) fn schedule_group_arn(&self, group: &str) -> String {
        format!("arn:aws:scheduler:{}:{}:schedule-group/{group}", self.region, self.account)
    }

    /// What every DynamoDB ARN starts with.
    pub(crate) fn dynamodb_arn_prefix(&self) -> String {
        format!("arn:aws:dynamodb:{}:{}:", self.region, self.account)
    }
}

/// The queue a queue URL names: its last part.
pub(crate) fn queue_of_url(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or(url)
}

/// The queue an SQS ARN names; `None` for an ARN of another service.
pub(crate) fn queue_of_arn(arn: &str) -> Option<&str> {
    let mut parts = arn.splitn(6, ':');
    let is_sqs = parts.next() == Some("arn") && parts.nth(1) == Some("sqs");
    parts.nth(2).filter(|name| is_sqs && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_found_again_in_its_own_url_and_arn() {
        let names = Names { region: "us-east-1".to_owned(), account: "000000000000".to_owned() };
        assert_eq!(queue_of_url(&names.queue_url("close")), "close");
        assert_eq!(queue_of_arn(&names.queue_arn("close")), Some("close"));
        assert_eq!(queue_of_arn("arn:aws:lambda:us-east-1:000000000000:function:scan"), None);
    }
}
