//! The common methods of operators with one input.

/// Name and input of an operator; a changed input is taken by `with_input`.
macro_rules! one_input {
    ($name:literal, $input:ident) => {
        fn name(&self) -> &str {
            $name
        }

        fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
            vec![&self.$input]
        }

        fn replace_children(
            self: Arc<Self>,
            mut children: Vec<Arc<dyn ExecutionPlan>>,
            _: datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
        ) -> Result<Arc<dyn ExecutionPlan>> {
            match (children.pop(), children.pop()) {
                (Some(input), None) => Ok(Arc::new(self.with_input(input)?)),
                _ => datafusion::common::internal_err!("{} has one input", $name),
            }
        }

        fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
            use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
            self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
        }
    };
}
pub(crate) use one_input;

/// The methods of an operator of one input that has properties and metrics of its own, and no expressions.
macro_rules! unary_plan {
    ($name:literal) => {
        crate::unary::one_input!($name, input);

        fn properties(&self) -> &Arc<PlanProperties> {
            &self.properties
        }

        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
        ) -> Result<TreeNodeRecursion> {
            Ok(TreeNodeRecursion::Continue)
        }

        fn metrics(&self) -> Option<MetricsSet> {
            Some(self.metrics.clone_inner())
        }
    };
}
pub(crate) use unary_plan;
