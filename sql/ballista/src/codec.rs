//! Codecs of plans: Ogive tables, scans and joins as messages, and all else by the codecs of Ballista.

use crate::error::PlanError;
use crate::join_codec::{key_join, key_join_message, look_up, look_up_message};
use crate::message::{
    EndMessage, FenceMessage, KeySetMessage, Kind, PartitionMessage, RangeMessage, RelationMessage, ScanMessage,
    TableMessage, is_frame, kind_of, read, write,
};
use crate::tables::OpenTables;
use crate::write_codec::{
    ranges, ranges_message, sample, sample_message, step, step_message, tables, tables_message, types_of,
};
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, Extension, LogicalPlan, ScalarUDF};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::from_proto::parse_protobuf_file_scan_config;
use datafusion_proto::physical_plan::to_proto::serialize_file_scan_config;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::FileScanExecConf;
use ogive::io::remote_url;
use ogive::types::RecordType;
use ogive_datafusion::{
    FenceExec, Hidden, KeyJoinNode, KeyRange, KeyRangesExec, LookUpJoinExec, OgiveSource, OgiveTable, PartitionRows,
    PartsNode, RelationIdentity, SampleKeysExec, WriteTablesExec, aggregate_function, partition_rows, scalar_function,
};
use prost::Message;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

/// The codec of logical plans, in which tables are named by place and identity.
#[derive(Debug)]
pub struct OgiveLogicalCodec {
    others: BallistaLogicalExtensionCodec,
    tables: Arc<OpenTables>,
}

impl OgiveLogicalCodec {
    /// Opens the tables of plans among these.
    #[must_use]
    pub fn new(tables: Arc<OpenTables>) -> Self {
        Self { others: BallistaLogicalExtensionCodec::default(), tables }
    }
}

impl LogicalExtensionCodec for OgiveLogicalCodec {
    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        scalar_function(name).map_or_else(|| self.others.try_decode_udf(name, buf), Ok)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        aggregate_function(name).map_or_else(|| self.others.try_decode_udaf(name, buf), Ok)
    }

    fn try_decode(&self, buf: &[u8], inputs: &[LogicalPlan], ctx: &TaskContext) -> Result<Extension> {
        if !is_frame(buf) {
            return self.others.try_decode(buf, inputs, ctx);
        }
        if kind_of(buf) == Some(Kind::Step) {
            let node = Arc::new(step(read(Kind::Step, buf)?, inputs, self.tables.allowed())?);
            return Ok(Extension { node });
        }
        let node = Arc::new(key_join(&read(Kind::KeyJoin, buf)?, inputs, ctx, self)?);
        Ok(Extension { node })
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> Result<()> {
        if let Some(node) = node.node.as_any().downcast_ref::<PartsNode>() {
            write(Kind::Step, &step_message(node)?, buf);
            return Ok(());
        }
        let Some(join) = node.node.as_any().downcast_ref::<KeyJoinNode>() else {
            return self.others.try_encode(node, buf);
        };
        write(Kind::KeyJoin, &key_join_message(join, self)?, buf);
        Ok(())
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        table_ref: &TableReference,
        schema: SchemaRef,
        ctx: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        if !is_frame(buf) {
            return self.others.try_decode_table_provider(buf, table_ref, schema, ctx);
        }
        let message: TableMessage = read(Kind::Table, buf)?;
        let table = self.tables.open(&identities_of(message)?)?;
        check_schema(&table, &schema)?;
        Ok(table)
    }

    fn try_encode_table_provider(
        &self,
        table_ref: &TableReference,
        node: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(table) = node.downcast_ref::<OgiveTable>() else {
            let encoded = self.others.try_encode_table_provider(table_ref, node, buf);
            return encoded.map_err(|_| PlanError::NoLocation { name: table_ref.to_string() }.into());
        };
        // Rows that this session has inserted are of its next query.
        table.refresh()?;
        write(Kind::Table, &table_message(table.identities().iter())?, buf);
        Ok(())
    }

    fn try_decode_file_format(&self, buf: &[u8], ctx: &TaskContext) -> Result<Arc<dyn FileFormatFactory>> {
        self.others.try_decode_file_format(buf, ctx)
    }

    fn try_encode_file_format(&self, buf: &mut Vec<u8>, node: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.others.try_encode_file_format(buf, node)
    }
}

/// The codec of physical plans, in which a scan has the keys of each partition.
#[derive(Debug)]
pub struct OgivePhysicalCodec {
    others: BallistaPhysicalExtensionCodec,
    tables: Arc<OpenTables>,
}

impl OgivePhysicalCodec {
    /// Opens the tables of plans among these.
    #[must_use]
    pub fn new(tables: Arc<OpenTables>) -> Self {
        Self { others: BallistaPhysicalExtensionCodec::default(), tables }
    }

    fn scan_message(
        &self,
        config: &FileScanConfig,
        source: &OgiveSource,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<ScanMessage> {
        let partitions = config.file_groups.iter().map(|group| {
            let sets = group.iter().map(set_message).collect::<Result<_, PlanError>>()?;
            Ok(PartitionMessage { sets })
        });
        let partitions = partitions.collect::<Result<_, PlanError>>()?;
        // The ranges of partitions are in the keys; Ballista cannot pass them on.
        let bare = FileScanConfigBuilder::from(config.clone()).with_output_partitioning(None);
        let bare = bare.with_file_groups(Vec::new()).build();
        let bare = serialize_file_scan_config(&bare, self, converter)?;
        Ok(ScanMessage {
            table: Some(table_message(source.identities())?),
            partitions,
            conditions: source.conditions(),
            limit: config.limit.map(|limit| limit as u64),
            is_descending: source.is_descending(),
            config: bare.encode_to_vec(),
            last: source.last().map(|last| last as u64),
        })
    }

    fn scan(
        &self,
        message: ScanMessage,
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let named = message.table.ok_or_else(|| PlanError::Damaged("it names no table".to_owned()))?;
        let table = self.tables.open(&identities_of(named)?)?;
        let config = FileScanExecConf::decode(&message.config[..]);
        let config = config.map_err(|error| PlanError::Damaged(error.to_string()))?;
        let ctx = PhysicalPlanDecodeContext::new(ctx, self);
        check_config(&table, &config, &ctx, converter)?;
        let last = message.last.map(|last| usize::try_from(last).unwrap_or(usize::MAX));
        let source = Arc::new(table.source(message.conditions, message.is_descending).with_last(last));
        let config = parse_protobuf_file_scan_config(&config, &ctx, converter, source)?;
        let group = |partition: PartitionMessage| {
            let files = partition.sets.into_iter().map(|set| {
                let relation = usize::try_from(set.relation).unwrap_or(usize::MAX);
                let ranges = set.ranges.into_iter().map(range_of).collect();
                let file = table.partition(&PartitionRows { relation, ranges, rows: set.rows });
                file.ok_or_else(|| PlanError::Damaged("a partition is of a relation that is not there".to_owned()))
            });
            files.collect::<Result<Vec<_>, _>>().map(FileGroup::new)
        };
        let groups = message.partitions.into_iter().map(group).collect::<Result<_, _>>()?;
        let limit = message.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        // A partition takes nothing over from others: a task may run some of them alone.
        let config = FileScanConfigBuilder::from(config)
            .with_file_groups(groups)
            .with_limit(limit)
            .with_preserve_order(true)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}

impl PhysicalExtensionCodec for OgivePhysicalCodec {
    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        scalar_function(name).map_or_else(|| self.others.try_decode_udf(name, buf), Ok)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        aggregate_function(name).map_or_else(|| self.others.try_decode_udaf(name, buf), Ok)
    }

    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !is_frame(buf) {
            return self.others.try_decode(buf, inputs, ctx, converter);
        }
        match (kind_of(buf), inputs) {
            (Some(Kind::LookUp), _) => {
                let context = PhysicalPlanDecodeContext::new(ctx, self);
                Ok(Arc::new(look_up(&read(Kind::LookUp, buf)?, inputs, &context, converter)?))
            }
            (Some(Kind::Fence), [input]) => {
                let FenceMessage { hides_order, hides_constants } = read(Kind::Fence, buf)?;
                let hidden = match (hides_order, hides_constants) {
                    (true, _) => Hidden::Order,
                    (false, true) => Hidden::Constants,
                    (false, false) => Hidden::Nothing,
                };
                Ok(Arc::new(FenceExec::new(input.clone(), hidden)))
            }
            (Some(Kind::Sample), [input]) => Ok(Arc::new(sample(read(Kind::Sample, buf)?, input.clone())?)),
            (Some(Kind::KeyRanges), [input]) => Ok(Arc::new(ranges(read(Kind::KeyRanges, buf)?, input.clone())?)),
            (Some(Kind::Tables), [input]) => {
                Ok(Arc::new(tables(read(Kind::Tables, buf)?, input.clone(), self.tables.allowed())?))
            }
            _ => self.scan(read(Kind::Scan, buf)?, ctx, converter),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if let Some(join) = node.downcast_ref::<LookUpJoinExec>() {
            write(Kind::LookUp, &look_up_message(join, self, converter)?, buf);
            return Ok(());
        }
        if let Some(fence) = node.downcast_ref::<FenceExec>() {
            let hidden = fence.hidden();
            let message =
                FenceMessage { hides_order: hidden == Hidden::Order, hides_constants: hidden == Hidden::Constants };
            write(Kind::Fence, &message, buf);
            return Ok(());
        }
        if let Some(plan) = node.downcast_ref::<SampleKeysExec>() {
            write(Kind::Sample, &sample_message(plan), buf);
            return Ok(());
        }
        if let Some(plan) = node.downcast_ref::<KeyRangesExec>() {
            write(Kind::KeyRanges, &ranges_message(plan), buf);
            return Ok(());
        }
        if let Some(plan) = node.downcast_ref::<WriteTablesExec>() {
            write(Kind::Tables, &tables_message(plan)?, buf);
            return Ok(());
        }
        let scan = node.downcast_ref::<DataSourceExec>().and_then(DataSourceExec::downcast_to_file_source);
        let Some((config, source)) = scan else {
            return self.others.try_encode(node, buf, converter);
        };
        write(Kind::Scan, &self.scan_message(config, source, converter)?, buf);
        Ok(())
    }
}

/// The places and versions of relations, unless only this process can open one, or its place is a secret.
pub(crate) fn table_message<'a>(
    identities: impl Iterator<Item = &'a RelationIdentity>,
) -> Result<TableMessage, PlanError> {
    let relations = identities.map(|RelationIdentity { location, keyspace, version, types }| {
        check_place(location)?;
        let types = types.as_ref().map(RecordType::code);
        Ok(RelationMessage { location: location.clone(), keyspace: keyspace.clone(), version: version.clone(), types })
    });
    Ok(TableMessage { relations: relations.collect::<Result<_, _>>()? })
}

pub(crate) fn check_place(location: &str) -> Result<(), PlanError> {
    let Some(url) = remote_url(Path::new(location)) else {
        let is_place = Path::new(location).is_absolute() || location.starts_with("file://");
        return is_place.then_some(()).ok_or_else(|| PlanError::NoLocation { name: location.to_owned() });
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
    if !query.is_empty() || !user.is_empty() && scheme.starts_with("http") {
        return Err(PlanError::Secret { location: format!("{scheme}://{host}/{path}") });
    }
    Ok(())
}

fn identities_of(message: TableMessage) -> Result<Vec<RelationIdentity>, PlanError> {
    let identity = |RelationMessage { location, keyspace, version, types }| {
        let types = types.as_deref().map(types_of).transpose()?;
        Ok(RelationIdentity { location, keyspace, version, types })
    };
    message.relations.into_iter().map(identity).collect()
}

fn set_message(file: &PartitionedFile) -> Result<KeySetMessage, PlanError> {
    let part = partition_rows(file).filter(|_| file.range.is_none());
    let part = part.ok_or_else(|| PlanError::Damaged("a partition of a scan has bytes instead of keys".to_owned()))?;
    let ranges = part.ranges.iter().map(range_message).collect();
    Ok(KeySetMessage { ranges, relation: part.relation as u64, rows: part.rows })
}

fn range_message((start, end): &KeyRange) -> RangeMessage {
    if let (Bound::Included(start), Bound::Included(end)) = (start, end)
        && start == end
    {
        return RangeMessage { point: Some(start.clone()), start: None, end: None };
    }
    let message = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Included(key) => Some(EndMessage { key: key.clone(), excluded: false }),
        Bound::Excluded(key) => Some(EndMessage { key: key.clone(), excluded: true }),
        Bound::Unbounded => None,
    };
    RangeMessage { point: None, start: message(start), end: message(end) }
}

fn range_of(message: RangeMessage) -> KeyRange {
    let bound = |end: Option<EndMessage>| match end {
        Some(EndMessage { key, excluded: false }) => Bound::Included(key),
        Some(EndMessage { key, excluded: true }) => Bound::Excluded(key),
        None => Bound::Unbounded,
    };
    match message.point {
        Some(key) => (Bound::Included(key.clone()), Bound::Included(key)),
        None => (bound(message.start), bound(message.end)),
    }
}

/// The columns of a plan must be those of the table: they are when both are of one version of Ogive.
fn check_schema(table: &OgiveTable, planned: &Schema) -> Result<(), PlanError> {
    let schema = table.schema();
    let same = schema.fields().len() == planned.fields().len()
        && schema
            .fields()
            .iter()
            .zip(planned.fields())
            .all(|(own, planned)| own.name() == planned.name() && own.data_type() == planned.data_type());
    let location = || table.identities().first().map(|identity| identity.location.clone()).unwrap_or_default();
    let detail = || format!("it has other columns than the table {}", location());
    same.then_some(()).ok_or_else(|| PlanError::Damaged(detail()))
}

/// What the engine takes for granted of a scan: its columns, their statistics, and that expressions stay among them.
fn check_config(
    table: &OgiveTable,
    config: &FileScanExecConf,
    ctx: &PhysicalPlanDecodeContext<'_>,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<()> {
    let damaged = |detail: &str| PlanError::Damaged(detail.to_owned());
    let schema: Schema = config.schema.as_ref().ok_or_else(|| damaged("it has no columns"))?.try_into()?;
    check_schema(table, &schema)?;
    if !config.file_groups.is_empty() || !config.table_partition_cols.is_empty() || config.output_partitioning.is_some()
    {
        return Err(damaged("it has files or a partitioning beside those of the table").into());
    }
    let statistics = config.statistics.as_ref().map_or(0, |statistics| statistics.column_stats.len());
    if statistics != schema.fields().len() {
        return Err(damaged("it has statistics of other columns").into());
    }
    let projected = config.projection_exprs.iter().flat_map(|all| &all.projections).map(|one| one.expr.as_ref());
    let sorted = config.output_ordering.iter().flat_map(|order| &order.physical_sort_expr_nodes);
    let sorted = sorted.map(|one| one.expr.as_deref());
    for expr in projected.chain(sorted) {
        let expr = expr.ok_or_else(|| damaged("an expression is missing"))?;
        let expr = converter.proto_to_physical_expr(expr, &schema, ctx)?;
        let fits = |column: &datafusion::physical_expr::expressions::Column| {
            schema.fields().get(column.index()).is_some_and(|field| field.name() == column.name())
        };
        if !collect_columns(&expr).iter().all(fits) {
            return Err(damaged("an expression is about a column that is not there").into());
        }
    }
    Ok(())
}
