import { completionTokens, promptTokens, type UsageCounts } from '../../kernel';
import type { Distribution, Sum } from '../metrics';
import { type Attributes, Cells, type Description } from './cells';
import { ATTRIBUTE, type Conventions, SECONDS, TOKENS } from './conventions';

export type CallKind = 'inference' | 'embeddings' | 'other';

/** What a call used, as its supplier reported it; null where it did not. */
export interface ToldUsage {
  readonly usage: UsageCounts;
  /** The supplier may have counted pictures or sound as text. */
  readonly isMixed: boolean;
}

type Modality = 'text' | 'audio' | 'image' | 'unknown';

const seconds = (name: string, text: string): Description => ({ name, unit: 's', text });
const tokens = (name: string, text: string): Description => ({ name, unit: '{token}', text });

/** Metrics about calls of models by the GenAI conventions. */
export class ModelMetrics {
  readonly cells = new Cells();

  constructor(private readonly conventions: Conventions) {}

  /** Whoever makes many calls of a kind asks once. */
  series(kind: CallKind, attributes: Attributes): CallSeries {
    return new CallSeries(this.cells, this.conventions, kind, attributes);
  }
}

export class CallSeries {
  private readonly durations = new Map<string, Distribution>();
  private readonly inputs = new Map<string, Distribution>();
  private readonly outputs = new Map<string, Distribution>();
  private readonly used = new Map<string, Sum>();
  private first: Distribution | null = null;
  private next: Distribution | null = null;

  constructor(
    private readonly cells: Cells,
    private readonly conventions: Conventions,
    private readonly kind: CallKind,
    /** What its calls have in common. */
    private readonly attributes: Attributes,
  ) {}

  /** A call ended, with an error unless it is empty. */
  ended(milliseconds: number, error: string, told: ToldUsage | null): void {
    this.duration(error).add(milliseconds / 1_000);
    if (this.kind === 'other') return;
    const input = told === null ? 0 : promptTokens(told.usage);
    const output = told === null ? 0 : completionTokens(told.usage);
    if (this.conventions.metrics.tokens !== null) {
      // Only what is known is told.
      if (told !== null) this.both(error, input, output);
      return;
    }
    this.inputTokens(error)?.add(input);
    if (this.kind === 'embeddings') return;
    this.outputTokens(error)?.add(output);
    this.count(told);
  }

  /** The first piece of a streamed answer came after so long. */
  firstChunk(milliseconds: number): void {
    this.first ??= this.cells.histogram(
      seconds(this.conventions.metrics.firstChunk, 'Time from a request to the first chunk of its answer.'),
      SECONDS,
      this.attributes,
    );
    this.first.add(milliseconds / 1_000);
  }

  /** A further piece came so long after the one before. */
  nextChunk(milliseconds: number): void {
    this.next ??= this.cells.histogram(
      seconds(this.conventions.metrics.nextChunk, 'Time between two chunks of an answer.'),
      SECONDS,
      this.attributes,
    );
    this.next.add(milliseconds / 1_000);
  }

  private duration(error: string): Distribution {
    const { duration, embeddingsDuration, otherDuration } = this.conventions.metrics;
    const name = { inference: duration, embeddings: embeddingsDuration, other: otherDuration }[this.kind];
    return this.known(this.durations, error, seconds(name, 'Duration of a call to a model.'), SECONDS);
  }

  private inputTokens(error: string): Distribution | null {
    const { inputTokens, embeddingsTokens } = this.conventions.metrics;
    const name = this.kind === 'embeddings' ? embeddingsTokens : inputTokens;
    if (name === null) return null;
    return this.known(this.inputs, error, tokens(name, 'Input tokens of a call.'), TOKENS);
  }

  private outputTokens(error: string): Distribution | null {
    const name = this.conventions.metrics.outputTokens;
    if (name === null) return null;
    return this.known(this.outputs, error, tokens(name, 'Output tokens of a call.'), TOKENS);
  }

  private both(error: string, input: number, output: number): void {
    const of = tokens(this.conventions.metrics.tokens ?? '', 'Input and output tokens of a call.');
    const at = (type: string): Attributes => ({ ...this.attributes, [ATTRIBUTE.tokenType]: type });
    this.known(this.inputs, error, of, TOKENS, at('input')).add(input);
    if (this.kind === 'inference') this.known(this.outputs, error, of, TOKENS, at('output')).add(output);
  }

  private known(
    places: Map<string, Distribution>,
    error: string,
    description: Description,
    bounds: readonly number[],
    attributes = this.attributes,
  ): Distribution {
    // Metrics of 1.41 tell no error with tokens.
    const isTold = error !== '' && description.name !== this.conventions.metrics.tokens;
    let place = places.get(isTold ? error : '');
    if (place === undefined) {
      const all = isTold ? { ...attributes, [ATTRIBUTE.errorType]: error } : attributes;
      place = this.cells.histogram(description, bounds, all);
      places.set(isTold ? error : '', place);
    }
    return place;
  }

  /** Each token counts once in each direction; what came from a cache, or was thought, counts once more. */
  private count(told: ToldUsage | null): void {
    const names = this.conventions.metrics.used;
    if (names === null) return;
    if (told === null) {
      this.add(names.input, 'unknown', 0);
      this.add(names.output, 'unknown', 0);
      return;
    }
    const { usage, isMixed } = told;
    const rest: Modality = isMixed && usage.audioInputTokens + usage.imageTokens === 0 ? 'unknown' : 'text';
    const written = usage.cacheWriteTokens + usage.cacheWriteLongTokens;
    this.add(names.input, rest, usage.inputTokens + usage.cacheReadTokens + written);
    if (usage.audioInputTokens > 0) this.add(names.input, 'audio', usage.audioInputTokens);
    if (usage.imageTokens > 0) this.add(names.input, 'image', usage.imageTokens);
    if (usage.cacheReadTokens > 0) this.add(names.cacheRead, rest, usage.cacheReadTokens);
    if (written > 0) this.add(names.cacheWrite, rest, written);
    this.add(names.output, 'text', usage.outputTokens + usage.reasoningTokens);
    if (usage.audioOutputTokens > 0) this.add(names.output, 'audio', usage.audioOutputTokens);
    if (usage.imageOutputTokens > 0) this.add(names.output, 'image', usage.imageOutputTokens);
    if (usage.reasoningTokens > 0) this.add(names.reasoning, 'text', usage.reasoningTokens);
  }

  private add(name: string, modality: Modality, count: number): void {
    const key = `${name} ${modality}`;
    let sum = this.used.get(key);
    if (sum === undefined) {
      sum = this.cells.sum(tokens(name, 'Tokens used.'), {
        ...this.attributes,
        [ATTRIBUTE.modality]: modality,
      });
      this.used.set(key, sum);
    }
    sum.value += count;
  }
}
