import { Injectable } from '@nestjs/common';
import type { ModelView } from '../catalogue';
import { fault } from '../kernel';
import { Settings } from '../platform';

/** The model id that leaves the choice to the service. */
export const AUTO = 'auto';

/** The model that stands for `auto` where nothing is answered, such as when tokens are counted. */
@Injectable()
export class AutoRouter {
  constructor(private readonly settings: Settings) {}

  /** `usable`: what the caller may call, in the order of the catalogue. */
  reference(usable: () => readonly ModelView[]): string {
    const chosen = this.settings.autoModel ?? usable()[0]?.name;
    if (chosen === undefined) throw fault('autorouter_no_candidate', { param: 'model' });
    return chosen;
  }
}
