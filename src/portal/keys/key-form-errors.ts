import { fault, fromUnknown } from '../../kernel';
import { keyFields } from '../../keys';

const formFieldNames: Readonly<Record<string, string>> = {
  allowed_models: 'models_mode',
  expires_at: 'expires_on',
  metadata: 'labels',
};
const apiFieldNames: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(formFieldNames).map(([name, field]) => [field, name]),
);
const formFields = new Set([
  ...keyFields.on('body').map(({ name }) => name),
  'budget_limit',
  'budget_period',
  'model_budgets',
  'project_id',
]);

/** Assigns validation errors of the API's parser to the fields of the form, with the page's wording. */
export async function mapKeyErrors<Output>(work: () => Promise<Output>): Promise<Output> {
  try {
    return await work();
  } catch (error) {
    const { code, options, status } = fromUnknown(error);
    const reportedField = options.param?.split('.')[0] ?? '';
    const param = apiFieldNames[reportedField] ?? reportedField;
    if (status >= 500 || !formFields.has(param)) throw error;
    const details = { ...(options.details as object | undefined), reason: `keys.problem.${param}` };
    throw fault(code, { ...options, param: formFieldNames[param] ?? param, details });
  }
}
