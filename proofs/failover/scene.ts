import { type Answer, ask, type CallerOptions } from './caller';
import { type Layout, modelName, type Place, places, providerName, upstreamName } from './catalogue';
import type { Question } from './dialects';
import type { Limits } from './limits';
import type { SeenCall, Supplier, SupplierFault } from './supplier';

export interface AskOptions {
  readonly prompt?: string;
  readonly prefill?: string;
  readonly session?: string;
}

let conversations = 0;

/** An answer has so many words. */
export const WORDS = 60;

/** Every question begins a conversation of its own, which no lane has answered before. */
export const freshPrompt = (): string => `Question ${(conversations += 1)} [[tokens=${WORDS}]]`;

/** One model with one to three lanes, a caller before it, and the suppliers behind it. */
export class Scene {
  readonly model: string;

  constructor(
    drill: string,
    readonly name: string,
    readonly layout: Layout,
    private readonly suppliers: Readonly<Record<Place, Supplier>>,
    private readonly access: CallerOptions,
    readonly limits: Limits,
  ) {
    this.model = modelName(drill, name);
  }

  get places(): readonly Place[] {
    return places.slice(0, this.layout.lanes.length);
  }

  provider(place: Place): string {
    return providerName(this.model, place);
  }

  upstream(place: Place): string {
    return upstreamName(this.model, this.layout, place);
  }

  ask({ prompt = freshPrompt(), prefill, session }: AskOptions = {}): Promise<Answer> {
    const { asked, stream } = this.layout;
    const question: Question = { model: this.model, stream, prompt, ...(prefill ? { prefill } : {}) };
    return ask(asked, question, { ...this.access, ...(session === undefined ? {} : { session }) });
  }

  /** The lane does this from now on, `times` times or until it is lifted. */
  fault(place: Place, fault: SupplierFault, times?: number): Promise<() => Promise<void>> {
    return this.suppliers[place].fault(this.upstream(place), fault, times);
  }

  async faultEverywhere(fault: SupplierFault): Promise<() => Promise<void>> {
    const lifts = await Promise.all(this.places.map((place) => this.fault(place, fault)));
    return async () => void (await Promise.all(lifts.map((lift) => lift())));
  }

  /** One supplier was asked these for this model. */
  calls(place: Place): Promise<readonly SeenCall[]> {
    return this.suppliers[place].calls(this.upstream(place));
  }

  async counts(): Promise<Readonly<Record<Place, number>>> {
    const counted = await Promise.all(places.map(async (place) => [place, (await this.calls(place)).length]));
    return Object.fromEntries(counted) as Record<Place, number>;
  }

  /** The head of the answer names the lane that answered. */
  placeOf({ headers }: Answer): Place | undefined {
    return places.find((place) => headers['x-svc-supplier'] === this.provider(place));
  }

  /** The simulator says this to the prompt when nothing is in its way. */
  async reference({ prompt, prefill }: AskOptions & { readonly prompt: string }): Promise<string> {
    const question: Question = {
      model: 'sim-reference',
      stream: false,
      prompt,
      ...(prefill ? { prefill } : {}),
    };
    const { status, text } = await ask('chat', question, { url: this.suppliers.c.url, key: 'sim-reference' });
    if (status !== 200 || text === '') throw new Error('the simulator gives no reference');
    return text;
  }
}
