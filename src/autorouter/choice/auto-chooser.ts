import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Caller } from '../../keys';
import { type GatewayCall, type ModelChooser, RegisteredChooser } from '../../gateway';
import { AutoDecisions } from './auto-decisions';
import { AutoModel } from './auto-model';
import type { AutoRoute } from './auto-route';

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

  choose(call: GatewayCall): Promise<AutoRoute | null> {
    return this.decisions.choose(call);
  }

  modelFor(caller: Caller) {
    return this.model.for(caller);
  }
}
