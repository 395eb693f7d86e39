import { Injectable } from '@nestjs/common';
import type { Caller } from '../../keys';
import type { ModelChooser } from '../admission';
import type { Call } from '../intake';
import { AutoDecisions } from './auto-decisions';
import { AutoModel } from './auto-model';
import type { AutoRoute } from './auto-route';

/** What the gateway sees of automatic choice. */
@Injectable()
export class AutoChooser implements ModelChooser {
  constructor(
    private readonly decisions: AutoDecisions,
    private readonly model: AutoModel,
  ) {}

  choose(call: Call): Promise<AutoRoute | null> {
    return this.decisions.choose(call);
  }

  modelFor(caller: Caller): Promise<object | null> {
    return this.model.for(caller);
  }
}
