//! The two tables: names, keys, and how they are created where no template does it.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType, StreamSpecification, StreamViewType,
};

use crate::codec::names::{DUE_AT, DUE_SHARD, PK, SK};

/// The due index of the orders table (DESIGN §6): sparse, keys only.
pub const DUE_INDEX: &str = "due";

/// The names of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Orders and everything that belongs to one.
    pub orders: String,
    /// Counters and coupons.
    pub resources: String,
}

/// Why a table could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateTablesError {
    /// The description of the table is incomplete.
    #[error("the table {table} is not well described")]
    Describe {
        /// Which table.
        table: String,
        /// What is missing.
        #[source]
        source: BuildError,
    },
    /// The database refused.
    #[error("the table {table} could not be created")]
    Create {
        /// Which table.
        table: String,
        /// Why.
        #[source]
        source: Box<SdkError<CreateTableError>>,
    },
}

/// Creates what is missing of both tables: what `template.yaml` does in the cloud.
///
/// # Errors
/// When a table neither exists nor can be created.
pub async fn create_tables(client: &Client, tables: &Tables) -> Result<(), CreateTablesError> {
    let describe = |table: &str| {
        let table = table.to_owned();
        move |source| CreateTablesError::Describe { table, source }
    };
    let orders = client
        .create_table()
        .table_name(&tables.orders)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute(PK, ScalarAttributeType::S).map_err(describe(&tables.orders))?)
        .attribute_definitions(attribute(SK, ScalarAttributeType::S).map_err(describe(&tables.orders))?)
        .attribute_definitions(attribute(DUE_SHARD, ScalarAttributeType::N).map_err(describe(&tables.orders))?)
        .attribute_definitions(attribute(DUE_AT, ScalarAttributeType::N).map_err(describe(&tables.orders))?)
        .key_schema(key(PK, KeyType::Hash).map_err(describe(&tables.orders))?)
        .key_schema(key(SK, KeyType::Range).map_err(describe(&tables.orders))?)
        .global_secondary_indexes(due_index().map_err(describe(&tables.orders))?)
        .stream_specification(
            StreamSpecification::builder()
                .stream_enabled(true)
                .stream_view_type(StreamViewType::NewAndOldImages)
                .build()
                .map_err(describe(&tables.orders))?,
        );
    unless_it_exists(&tables.orders, orders.send().await.map(drop))?;
    let resources = client
        .create_table()
        .table_name(&tables.resources)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute(PK, ScalarAttributeType::S).map_err(describe(&tables.resources))?)
        .key_schema(key(PK, KeyType::Hash).map_err(describe(&tables.resources))?);
    unless_it_exists(&tables.resources, resources.send().await.map(drop))
}

fn attribute(name: &str, kind: ScalarAttributeType) -> Result<AttributeDefinition, BuildError> {
    AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build()
}

fn key(name: &str, kind: KeyType) -> Result<KeySchemaElement, BuildError> {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build()
}

fn due_index() -> Result<GlobalSecondaryIndex, BuildError> {
    GlobalSecondaryIndex::builder()
        .index_name(DUE_INDEX)
        .key_schema(key(DUE_SHARD, KeyType::Hash)?)
        .key_schema(key(DUE_AT, KeyType::Range)?)
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build())
        .build()
}

fn unless_it_exists(table: &str, created: Result<(), SdkError<CreateTableError>>) -> Result<(), CreateTablesError> {
    match created {
        Ok(()) => Ok(()),
        Err(error) if error.as_service_error().is_some_and(CreateTableError::is_resource_in_use_exception) => Ok(()),
        Err(source) => Err(CreateTablesError::Create { table: table.to_owned(), source: Box::new(source) }),
    }
}
