import { type Fault, fault } from '../../kernel';
import type { OperationName, CoreStyle } from './kit';

export interface ResponseUnwrapper {
  readonly contentType: string;
  push(chunk: Buffer): Buffer | Fault;
  /** The last bytes, or the fault of the complete response. */
  end(): Buffer | Fault | undefined;
}

const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
const EMPTY_BUFFER = Buffer.alloc(0);
/** Operations whose responses are audio, or text of any format. */
const RAW_OPERATIONS: ReadonlySet<OperationName> = new Set(['speech', 'transcription', 'translation']);

/** Undefined if the supplier responds in the requested dialect. */
export function unwrapperFor(
  style: CoreStyle,
  { operation, stream }: { readonly operation: OperationName; readonly stream: boolean },
): ResponseUnwrapper | undefined {
  if (!stream) {
    if (style.unwrap === undefined || RAW_OPERATIONS.has(operation)) return undefined;
    return new BufferedUnwrapper((body) => style.unwrap!(body));
  }
  const unframer = style.unframer?.();
  if (unframer === undefined) return undefined;
  return {
    contentType: 'text/event-stream',
    push: (chunk) => unframer.push(chunk),
    end: () => unframer.end(),
  };
}

/** Buffers the complete response before unwrapping it. */
class BufferedUnwrapper implements ResponseUnwrapper {
  readonly contentType = 'application/json';
  private readonly chunks: Buffer[] = [];
  private size = 0;

  constructor(private readonly unwrap: (body: Buffer) => Buffer | Fault) {}

  push(chunk: Buffer): Buffer | Fault {
    this.size += chunk.length;
    if (this.size > MAX_RESPONSE_BYTES) return fault('provider_response_too_large');
    this.chunks.push(chunk);
    return EMPTY_BUFFER;
  }

  end(): Buffer | Fault {
    return this.unwrap(Buffer.concat(this.chunks, this.size));
  }
}
