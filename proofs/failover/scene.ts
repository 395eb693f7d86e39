import { type ObservedResponse, sendRequest, type CallerOptions } from './caller';
import {
  type SceneLayout,
  modelName,
  type SupplierId,
  supplierIds,
  providerName,
  upstreamName,
} from './catalogue';
import type { DialectRequest } from './dialects';
import type { DrillLimits } from './limits';
import type { RecordedCall, Supplier, SupplierFault } from './supplier';

export interface SendOptions {
  readonly prompt?: string;
  readonly prefill?: string;
  readonly session?: string;
}

let conversationCount = 0;

/** Number of words in an answer. */
export const ANSWER_WORDS = 60;

/** Every prompt starts a new conversation, so that no lane has session affinity. */
export const freshPrompt = (): string => `Question ${(conversationCount += 1)} [[tokens=${ANSWER_WORDS}]]`;

/** A model with one to three lanes, with its caller and its suppliers. */
export class Scene {
  readonly model: string;

  constructor(
    drill: string,
    readonly name: string,
    readonly layout: SceneLayout,
    private readonly suppliers: Readonly<Record<SupplierId, Supplier>>,
    private readonly access: CallerOptions,
    readonly limits: DrillLimits,
  ) {
    this.model = modelName(drill, name);
  }

  get supplierIds(): readonly SupplierId[] {
    return supplierIds.slice(0, this.layout.lanes.length);
  }

  provider(supplierId: SupplierId): string {
    return providerName(this.model, supplierId);
  }

  upstream(supplierId: SupplierId): string {
    return upstreamName(this.model, this.layout, supplierId);
  }

  send({ prompt = freshPrompt(), prefill, session }: SendOptions = {}): Promise<ObservedResponse> {
    const { dialect, stream } = this.layout;
    const request: DialectRequest = { model: this.model, stream, prompt, ...(prefill ? { prefill } : {}) };
    return sendRequest(dialect, request, { ...this.access, ...(session === undefined ? {} : { session }) });
  }

  /** Injects a fault into the lane for the next `times` calls, or until it is removed. */
  fault(supplierId: SupplierId, fault: SupplierFault, times?: number): Promise<() => Promise<void>> {
    return this.suppliers[supplierId].fault(this.upstream(supplierId), fault, times);
  }

  async faultEverywhere(fault: SupplierFault): Promise<() => Promise<void>> {
    const faultRemovers = await Promise.all(
      this.supplierIds.map((supplierId) => this.fault(supplierId, fault)),
    );
    return async () => void (await Promise.all(faultRemovers.map((removeFault) => removeFault())));
  }

  /** Requests that a supplier received for this model. */
  calls(supplierId: SupplierId): Promise<readonly RecordedCall[]> {
    return this.suppliers[supplierId].calls(this.upstream(supplierId));
  }

  async counts(): Promise<Readonly<Record<SupplierId, number>>> {
    const entries = await Promise.all(
      supplierIds.map(async (supplierId) => [supplierId, (await this.calls(supplierId)).length]),
    );
    return Object.fromEntries(entries) as Record<SupplierId, number>;
  }

  /** The response headers name the lane that served the request. */
  supplierOf({ headers }: ObservedResponse): SupplierId | undefined {
    return supplierIds.find((supplierId) => headers['x-svc-supplier'] === this.provider(supplierId));
  }

  /** The simulator's answer to the prompt without any fault. */
  async reference({ prompt, prefill }: SendOptions & { readonly prompt: string }): Promise<string> {
    const request: DialectRequest = {
      model: 'sim-reference',
      stream: false,
      prompt,
      ...(prefill ? { prefill } : {}),
    };
    const { status, text } = await sendRequest('chat', request, {
      url: this.suppliers.c.url,
      key: 'sim-reference',
    });
    if (status !== 200 || text === '') throw new Error('the simulator gives no reference');
    return text;
  }
}
