import type { SettledRecord, Tap } from '#extension';
import type { ExtensionPart } from '../../extensions';

const DEFAULT_BATCH_SIZE = 100;
const DEFAULT_TIMEOUT_MS = 10_000;

type TapKind = 'file' | 'webhook' | 's3' | 'langfuse' | 'otlp' | 'datadog' | 'extension';

export interface RegisteredTap {
  /** Name under which the cursor is stored, such as `http/siem`. */
  readonly name: string;
  /** Id of the tap's extension; a reserved word for built-in taps. */
  readonly owner: string;
  readonly kind: TapKind;
  /** Destination of the records, without secrets; null if only the extension knows. */
  readonly target: string | null;
  readonly batchSize: number;
  readonly timeoutMs: number;
  /** How long a record can wait to be delivered together with others. */
  readonly everyMs: number;
  /** Resolves once the records are safe, with the receiver's response if known. */
  send(records: readonly SettledRecord[], signal: AbortSignal): Promise<string | null>;
}

export type Sink = Omit<RegisteredTap, 'name' | 'owner' | 'batchSize' | 'timeoutMs' | 'everyMs'> & {
  readonly name: string;
  readonly batchSize?: number;
  readonly timeoutMs?: number;
  readonly everyMs?: number;
};

export const tapOfSink = (owner: string, sink: Sink): RegisteredTap => ({
  ...sink,
  owner,
  name: `${owner}/${sink.name}`,
  batchSize: sink.batchSize ?? DEFAULT_BATCH_SIZE,
  timeoutMs: sink.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  everyMs: sink.everyMs ?? 0,
});

export const tapOfExtension = ({ extension, name, part }: ExtensionPart<Tap>): RegisteredTap => ({
  name,
  owner: extension,
  kind: 'extension',
  target: null,
  batchSize: part.batchSize ?? DEFAULT_BATCH_SIZE,
  timeoutMs: part.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  everyMs: 0,
  async send(records, signal) {
    await part.deliver(records, signal);
    return null;
  },
});
