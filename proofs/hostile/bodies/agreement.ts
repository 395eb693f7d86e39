import { steeringFields } from '#product/routing';
import { entriesOf, type Reader, readers, type Tree, treeOf } from './readers';

/** The gateway understood this, by the names under which a supplier reads it. */
export interface Understood {
  /** Null where the supplier learns it from the address. */
  readonly model: string | null;
  readonly stream: boolean;
  readonly choices: number;
  readonly limit: number | null;
}

const limitNames = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'];
const inner: readonly (readonly [string, string])[] = [
  ['stream_options', 'include_usage'],
  ['thinking', 'budget_tokens'],
  ['thinking', 'type'],
  ['reasoning', 'max_tokens'],
  ['metadata', 'session_id'],
  ['generationConfig', 'maxOutputTokens'],
];
const steering = [...steeringFields];

/** A body that goes to a supplier has this fault; null where all readers see what the gateway saw. */
export function disagreement(
  text: string,
  understood: Understood,
  hidesFromMetadata: boolean,
): string | null {
  let tree: Tree;
  try {
    tree = treeOf(text);
  } catch (error) {
    return `no JSON is sent: ${String(error)}`;
  }
  const seen = readers.map((reader) => seenBy(reader, tree, hidesFromMetadata));
  const [first] = seen;
  for (const [at, each] of seen.entries())
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

function seenBy({ find }: Reader, tree: Tree, hidesFromMetadata: boolean) {
  const entries = entriesOf(tree);
  const field = (name: string): Tree | undefined => find(entries, name);
  const limits = limitNames.map(field).filter((limit) => limit !== undefined && limit !== null);
  const metadata = entriesOf(field('metadata'));
  const steered = steering.filter(
    (name) => field(name) !== undefined || (hidesFromMetadata && find(metadata, name) !== undefined),
  );
  const facts = {
    model: field('model'),
    stream: field('stream') as boolean | null | undefined,
    choices: Math.max(...['n', 'best_of'].map((name) => Number(field(name) ?? 1))),
    limits,
    steered,
  };
  const rest = inner.map(([outer, name]) => find(entriesOf(field(outer)), name));
  return { ...facts, all: JSON.stringify([facts, rest]) };
}
