import { fault, fromUnknown } from '../../kernel';
import { keyFields } from '../../keys';

/** These fields of the form are called otherwise than in the programming interface. */
const fieldOf: Readonly<Record<string, string>> = {
  allowed_models: 'models_mode',
  expires_at: 'expires_on',
  metadata: 'labels',
};
const nameOf: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(fieldOf).map(([name, field]) => [field, name]),
);
const formFields = new Set([
  ...keyFields.on('body').map(({ name }) => name),
  'budget_limit',
  'budget_period',
  'model_budgets',
  'project_id',
]);

/** The reader of a key refuses at the field of the form, in the words of the page. */
export async function atKeyField<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    const { code, options, status } = fromUnknown(error);
    const named = options.param?.split('.')[0] ?? '';
    const param = nameOf[named] ?? named;
    if (status >= 500 || !formFields.has(param)) throw error;
    const details = { ...(options.details as object | undefined), reason: `keys.problem.${param}` };
    throw fault(code, { ...options, param: fieldOf[param] ?? param, details });
  }
}
