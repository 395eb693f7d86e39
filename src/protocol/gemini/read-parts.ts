import { fault, type Fault } from '../../kernel';
import { argumentsText, type Emission, type JsonObject, supplierFault, type Tally } from '../canonical';
import { isRecord, pick } from '../usage';
import { readGeminiError } from './errors';
import { readGeminiFinish } from './finish';
import { findGeminiUsage, normaliseGeminiUsage } from './usage';

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Reads complete responses, and the chunks of a stream, which have the same shape. */
export class GeminiReader {
  /** The supplier's finish reason; the only mark of a stream's end. */
  rawFinish: string | undefined;

  constructor(
    private readonly emission: Emission,
    private readonly tally: Tally,
  ) {}

  read(chunk: JsonObject): Fault | undefined {
    const error = readGeminiError(chunk);
    if (error) return supplierFault(error);
    this.emission.start(text(chunk.responseId), text(chunk.modelVersion));
    const candidates: unknown[] = Array.isArray(chunk.candidates) ? chunk.candidates : [];
    const [candidate] = candidates;
    if (isRecord(candidate)) this.candidate(candidate);
    const blocked = pick(chunk, 'promptFeedback', 'blockReason');
    if (candidate === undefined && typeof blocked === 'string') this.rawFinish = 'PROHIBITED_CONTENT';
    this.emission.report(normaliseGeminiUsage(findGeminiUsage(chunk)));
    return undefined;
  }

  end(): Fault | undefined {
    if (this.rawFinish === undefined) return fault('empty_response');
    this.emission.end(readGeminiFinish(this.rawFinish));
    return undefined;
  }

  private candidate({ content, finishReason, citationMetadata, groundingMetadata }: JsonObject): void {
    const parts = pick(content, 'parts');
    if (Array.isArray(parts)) for (const part of parts) if (isRecord(part)) this.part(part);
    if (citationMetadata !== undefined)
      this.tally.dropped('candidates.citationMetadata', 'unknown to the caller');
    if (groundingMetadata !== undefined)
      this.tally.dropped('candidates.groundingMetadata', 'unknown to the caller');
    if (typeof finishReason === 'string') this.rawFinish = finishReason;
  }

  private part(part: JsonObject): void {
    if (part.thoughtSignature !== undefined) {
      this.tally.dropped('candidates.content.parts.thoughtSignature', 'no dialect of callers carries it');
    }
    if (typeof part.text === 'string') {
      if (part.thought === true) this.emission.reasoning(part.text);
      else this.emission.text(part.text);
    } else if (isRecord(part.functionCall)) {
      this.call(part.functionCall);
    } else if (Object.keys(part).some((name) => name !== 'thoughtSignature')) {
      this.tally.dropped('candidates.content.parts', `a part of the type ${Object.keys(part)[0]}`);
    }
  }

  /** Calls are never split across chunks. */
  private call({ id, name, args }: JsonObject): void {
    const handle = this.emission.openTool(text(id), text(name));
    this.emission.toolArguments(handle, argumentsText(args) ?? '{}');
    this.emission.closeTool(handle);
  }
}
