import { type Fault, fault } from '../../kernel';
import type { OperationName, SupplierStyle } from './kit';

/** Takes an answer out of what its supplier wraps it in. */
export interface Unwrapping {
  /** What the answer is then. */
  readonly contentType: string;
  push(chunk: Buffer): Buffer | Fault;
  /** The last bytes, or what is wrong with the whole. */
  end(): Buffer | Fault | undefined;
}

const LARGEST_ANSWER = 64 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);
/** Their answers are sound, or text of any kind. */
const RAW: ReadonlySet<OperationName> = new Set(['speech', 'transcription', 'translation']);

/** It is undefined where the supplier answers in the dialect that it was asked in. */
export function unwrappingFor(
  style: SupplierStyle,
  { operation, stream }: { readonly operation: OperationName; readonly stream: boolean },
): Unwrapping | undefined {
  if (!stream) {
    if (style.unwrap === undefined || RAW.has(operation)) return undefined;
    return new WholeAnswer((body) => style.unwrap!(body));
  }
  const unframer = style.unframer?.();
  if (unframer === undefined) return undefined;
  return {
    contentType: 'text/event-stream',
    push: (chunk) => unframer.push(chunk),
    end: () => unframer.end(),
  };
}

/** Nothing of it goes on before all of it is there. */
class WholeAnswer implements Unwrapping {
  readonly contentType = 'application/json';
  private readonly chunks: Buffer[] = [];
  private size = 0;

  constructor(private readonly unwrap: (body: Buffer) => Buffer | Fault) {}

  push(chunk: Buffer): Buffer | Fault {
    this.size += chunk.length;
    if (this.size > LARGEST_ANSWER) return fault('provider_response_too_large');
    this.chunks.push(chunk);
    return NOTHING;
  }

  end(): Buffer | Fault {
    return this.unwrap(Buffer.concat(this.chunks, this.size));
  }
}
