import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Caller } from '../../keys';
import { type Call, type ModelChooser, RegisteredChooser } from '../../gateway';
import { AutoDecisions } from './auto-decisions';
import { AutoModel } from './auto-model';
import type { AutoRoute } from './auto-route';

/** What the gateway sees of automatic choice. */
@Injectable()
export class AutoChooser implements ModelChooser, OnModuleInit {
  constructor(
    private readonly registered: RegisteredChooser,
    private readonly decisions: AutoDecisions,
    private readonly model: AutoModel,
  ) {}

  onModuleInit(): void {
    this.registered.register(this);
  }

  choose(call: Call): Promise<AutoRoute | null> {
    return this.decisions.choose(call);
  }

  modelFor(caller: Caller) {
    return this.model.for(caller);
  }
}
