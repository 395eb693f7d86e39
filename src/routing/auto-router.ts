import { Injectable } from '@nestjs/common';
import type { ModelView } from '../catalogue';
import { type Fault, fault } from '../kernel';
import { Settings } from '../platform';

/** The model id that leaves the choice to the service. */
export const AUTO = 'auto';

/**
 * Chooses the model for requests that name none. For now every one of them goes to the reference model; whatever
 * chooses better takes this place, and is asked the same.
 */
@Injectable()
export class AutoRouter {
  constructor(private readonly settings: Settings) {}

  /**
   * The name of the model. `usable`: what the caller may call, in the order of the catalogue. Whether the caller may
   * call the reference model is asked of it like of any other that is named.
   */
  choose(surface: string, usable: () => readonly ModelView[]): string {
    if (surface !== 'messages' && !(surface in laterSurfaces && this.settings.autoEverywhere))
      throw unsupported(surface);
    const chosen = this.settings.autoModel ?? usable()[0]?.name;
    if (chosen === undefined) throw fault('autorouter_no_candidate', { param: 'model' });
    return chosen;
  }
}

/** Where an operator may allow it besides. */
const laterSurfaces: Readonly<Record<string, true>> = { chat: true, responses: true };

const unsupported = (surface: string): Fault =>
  fault('unsupported_auto_mode', {
    param: 'model',
    message:
      surface in laterSurfaces
        ? 'auto is for /v1/messages here: this installation has not opened it to other routes.'
        : 'auto cannot be asked for on this route: name a model.',
  });
