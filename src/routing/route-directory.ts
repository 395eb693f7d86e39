import { Injectable } from '@nestjs/common';
import type { Lane, ModelRoute } from './lane';

/** The key the sandbox expects; it guards nothing. */
const SANDBOX_CREDENTIAL = 'sim-sandbox';

/** Which lanes lead to a model. Until a catalogue is configured, the sandbox answers for every `sim-` model. */
@Injectable()
export class RouteDirectory {
  private sandbox: string | null = null;

  useSandbox(baseUrl: string | null): void {
    this.sandbox = baseUrl;
  }

  routeOf(model: string): ModelRoute | null {
    if (this.sandbox === null || !model.startsWith('sim-')) return null;
    const lane: Lane = {
      supplier: 'sandbox',
      baseUrl: this.sandbox,
      credential: SANDBOX_CREDENTIAL,
      upstreamModel: model,
      region: null,
    };
    return { model, lanes: [lane] };
  }
}
