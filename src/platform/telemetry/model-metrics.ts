import { completionTokens, promptTokens, type UsageCounts } from '../../kernel';
import type { Distribution, Sum } from '../metrics';
import { type MetricAttributes, MetricStore, type InstrumentDescription } from './metric-store';
import { ATTRIBUTE, type Conventions, SECONDS, TOKENS } from './conventions';

export type CallKind = 'inference' | 'embeddings' | 'other';

/** Usage of a call as its supplier reported it. */
export interface CallUsage {
  readonly usage: UsageCounts;
  /** True if the supplier might have counted images or audio as text. */
  readonly isMixed: boolean;
}

type Modality = 'text' | 'audio' | 'image' | 'unknown';

const seconds = (name: string, text: string): InstrumentDescription => ({ name, unit: 's', text });
const tokens = (name: string, text: string): InstrumentDescription => ({ name, unit: '{token}', text });

export class ModelMetrics {
  readonly cells = new MetricStore();

  constructor(private readonly conventions: Conventions) {}

  /** Callers with many calls of a kind request their series once. */
  series(kind: CallKind, attributes: MetricAttributes): CallSeries {
    return new CallSeries(this.cells, this.conventions, kind, attributes);
  }
}

export class CallSeries {
  private readonly durations = new Map<string, Distribution>();
  private readonly inputs = new Map<string, Distribution>();
  private readonly outputs = new Map<string, Distribution>();
  private readonly usedTokens = new Map<string, Sum>();
  private firstChunkTimes: Distribution | null = null;
  private nextChunkTimes: Distribution | null = null;

  constructor(
    private readonly cells: MetricStore,
    private readonly conventions: Conventions,
    private readonly kind: CallKind,
    private readonly attributes: MetricAttributes,
  ) {}

  /** Records the end of a call; `error` is empty for a success. */
  recordEnd(milliseconds: number, error: string, reported: CallUsage | null): void {
    this.duration(error).add(milliseconds / 1_000);
    if (this.kind === 'other') return;
    const input = reported === null ? 0 : promptTokens(reported.usage);
    const output = reported === null ? 0 : completionTokens(reported.usage);
    if (this.conventions.metrics.tokens !== null) {
      // Only known values are recorded.
      if (reported !== null) this.recordBothDirections(error, input, output);
      return;
    }
    this.inputTokens(error)?.add(input);
    if (this.kind === 'embeddings') return;
    this.outputTokens(error)?.add(output);
    this.recordUsage(reported);
  }

  recordFirstChunk(milliseconds: number): void {
    this.firstChunkTimes ??= this.cells.histogram(
      seconds(this.conventions.metrics.firstChunk, 'Time from a request to the first chunk of its answer.'),
      SECONDS,
      this.attributes,
    );
    this.firstChunkTimes.add(milliseconds / 1_000);
  }

  recordNextChunk(milliseconds: number): void {
    this.nextChunkTimes ??= this.cells.histogram(
      seconds(this.conventions.metrics.nextChunk, 'Time between two chunks of an answer.'),
      SECONDS,
      this.attributes,
    );
    this.nextChunkTimes.add(milliseconds / 1_000);
  }

  private duration(error: string): Distribution {
    const { duration, embeddingsDuration, otherDuration } = this.conventions.metrics;
    const name = { inference: duration, embeddings: embeddingsDuration, other: otherDuration }[this.kind];
    return this.histogramFor(this.durations, error, seconds(name, 'Duration of a call to a model.'), SECONDS);
  }

  private inputTokens(error: string): Distribution | null {
    const { inputTokens, embeddingsTokens } = this.conventions.metrics;
    const name = this.kind === 'embeddings' ? embeddingsTokens : inputTokens;
    if (name === null) return null;
    return this.histogramFor(this.inputs, error, tokens(name, 'Input tokens of a call.'), TOKENS);
  }

  private outputTokens(error: string): Distribution | null {
    const name = this.conventions.metrics.outputTokens;
    if (name === null) return null;
    return this.histogramFor(this.outputs, error, tokens(name, 'Output tokens of a call.'), TOKENS);
  }

  private recordBothDirections(error: string, input: number, output: number): void {
    const description = tokens(this.conventions.metrics.tokens ?? '', 'Input and output tokens of a call.');
    const attributesOf = (type: string): MetricAttributes => ({
      ...this.attributes,
      [ATTRIBUTE.tokenType]: type,
    });
    this.histogramFor(this.inputs, error, description, TOKENS, attributesOf('input')).add(input);
    if (this.kind === 'inference')
      this.histogramFor(this.outputs, error, description, TOKENS, attributesOf('output')).add(output);
  }

  private histogramFor(
    histograms: Map<string, Distribution>,
    error: string,
    description: InstrumentDescription,
    bounds: readonly number[],
    attributes = this.attributes,
  ): Distribution {
    // Token metrics of 1.41 have no error attribute.
    const hasErrorType = error !== '' && description.name !== this.conventions.metrics.tokens;
    let histogram = histograms.get(hasErrorType ? error : '');
    if (histogram === undefined) {
      const all = hasErrorType ? { ...attributes, [ATTRIBUTE.errorType]: error } : attributes;
      histogram = this.cells.histogram(description, bounds, all);
      histograms.set(hasErrorType ? error : '', histogram);
    }
    return histogram;
  }

  /** Each token counts once per direction; cached and reasoning tokens count once more. */
  private recordUsage(reported: CallUsage | null): void {
    const names = this.conventions.metrics.used;
    if (names === null) return;
    if (reported === null) {
      this.add(names.input, 'unknown', 0);
      this.add(names.output, 'unknown', 0);
      return;
    }
    const { usage, isMixed } = reported;
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
    let sum = this.usedTokens.get(key);
    if (sum === undefined) {
      sum = this.cells.sum(tokens(name, 'Tokens used.'), {
        ...this.attributes,
        [ATTRIBUTE.modality]: modality,
      });
      this.usedTokens.set(key, sum);
    }
    sum.value += count;
  }
}
