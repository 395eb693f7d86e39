import type { SettledRecord, Tap } from '#extension';
import type { Owned } from '../../extensions';

const USUAL_BATCH = 100;
const USUAL_TIMEOUT_MS = 10_000;

type TapKind = 'file' | 'webhook' | 's3' | 'langfuse' | 'otlp' | 'datadog' | 'extension';

/** A tap that this node has: one of the service, or one of an extension. */
export interface HeldTap {
  /** The name under which its place is kept, such as `http/siem`. */
  readonly name: string;
  /** The extension that it is from; a word of our own for those of the service. */
  readonly owner: string;
  readonly kind: TapKind;
  /** Where records go to, without secrets; null where only the extension knows. */
  readonly target: string | null;
  readonly batchSize: number;
  readonly timeoutMs: number;
  /** A record may wait so long for others to be delivered with it. */
  readonly everyMs: number;
  /** Fulfilled once the records are safe, with what the receiver said where that is known. */
  send(records: readonly SettledRecord[], signal: AbortSignal): Promise<string | null>;
}

/** A tap of the service, under a name of its own kind. */
export type Sink = Omit<HeldTap, 'name' | 'owner' | 'batchSize' | 'timeoutMs' | 'everyMs'> & {
  readonly name: string;
  readonly batchSize?: number;
  readonly timeoutMs?: number;
  readonly everyMs?: number;
};

export const heldSink = (owner: string, sink: Sink): HeldTap => ({
  ...sink,
  owner,
  name: `${owner}/${sink.name}`,
  batchSize: sink.batchSize ?? USUAL_BATCH,
  timeoutMs: sink.timeoutMs ?? USUAL_TIMEOUT_MS,
  everyMs: sink.everyMs ?? 0,
});

export const heldTap = ({ extension, name, part }: Owned<Tap>): HeldTap => ({
  name,
  owner: extension,
  kind: 'extension',
  target: null,
  batchSize: part.batchSize ?? USUAL_BATCH,
  timeoutMs: part.timeoutMs ?? USUAL_TIMEOUT_MS,
  everyMs: 0,
  async send(records, signal) {
    await part.deliver(records, signal);
    return null;
  },
});
