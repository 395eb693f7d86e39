import { steeringFields } from '#product/routing';
import { entriesOf, type FieldReader, readers, type JsonTree, parseTree } from './json-readers';

/** Fields as the gateway understood them, by the field names that a supplier reads. */
export interface UnderstoodBody {
  /** null if the supplier reads it from the path. */
  readonly model: string | null;
  readonly stream: boolean;
  readonly choices: number;
  readonly limit: number | null;
}

const limitNames = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'];
const nestedFields: readonly (readonly [string, string])[] = [
  ['stream_options', 'include_usage'],
  ['thinking', 'budget_tokens'],
  ['thinking', 'type'],
  ['reasoning', 'max_tokens'],
  ['metadata', 'session_id'],
  ['generationConfig', 'maxOutputTokens'],
];
const steeringNames = [...steeringFields];

/** Returns how a reader's view of the forwarded body differs from the gateway's; null if it does not. */
export function findDisagreement(
  text: string,
  understood: UnderstoodBody,
  hidesFromMetadata: boolean,
): string | null {
  let tree: JsonTree;
  try {
    tree = parseTree(text);
  } catch (error) {
    return `no JSON is sent: ${String(error)}`;
  }
  const views = readers.map((reader) => viewOf(reader, tree, hidesFromMetadata));
  const [first] = views;
  for (const [at, each] of views.entries())
    if (each.all !== first?.all) return `${readers[at]!.name}: ${each.all}, not ${first?.all}`;
  const { model, stream, choices, limits, steered } = first!;
  if (steered.length > 0) return `steered by ${steered.join(', ')}`;
  if (understood.model !== null && model !== understood.model) return `the model is ${JSON.stringify(model)}`;
  if (stream !== undefined && (stream ?? false) !== understood.stream)
    return `stream is ${JSON.stringify(stream)}`;
  if (choices > understood.choices) return `${choices} choices, not ${understood.choices}`;
  if (limits.length > 1) return `${limits.length} limits`;
  const [limit] = limits;
  if (understood.limit !== null && limit !== undefined && limit !== understood.limit)
    return `the limit is ${JSON.stringify(limit)}, not ${understood.limit}`;
  if (understood.limit === null && typeof limit === 'number') return `a limit of ${limit} that was not seen`;
  return null;
}

function viewOf({ find }: FieldReader, tree: JsonTree, hidesFromMetadata: boolean) {
  const entries = entriesOf(tree);
  const field = (name: string): JsonTree | undefined => find(entries, name);
  const limits = limitNames.map(field).filter((limit) => limit !== undefined && limit !== null);
  const metadata = entriesOf(field('metadata'));
  const steeringValues = steeringNames.filter(
    (name) => field(name) !== undefined || (hidesFromMetadata && find(metadata, name) !== undefined),
  );
  const view = {
    model: field('model'),
    stream: field('stream') as boolean | null | undefined,
    choices: Math.max(...['n', 'best_of'].map((name) => Number(field(name) ?? 1))),
    limits,
    steered: steeringValues,
  };
  const nestedValues = nestedFields.map(([outer, name]) => find(entriesOf(field(outer)), name));
  return { ...view, all: JSON.stringify([view, nestedValues]) };
}
