import { Injectable } from '@nestjs/common';
import {
  AutoLearner,
  AutoSalts,
  AutoStates,
  estimate,
  type Example,
  familiarity,
  type WordSalt,
} from '../../autorouter';

export interface Prediction {
  readonly quality: number;
  readonly deviation: number;
  readonly stateVersion: number;
}

const PRIOR = 0.5;

/** Access of evaluation to what the router has learned about an organisation. */
@Injectable()
export class RouterMemory {
  constructor(
    private readonly salts: AutoSalts,
    private readonly states: AutoStates,
    private readonly learner: AutoLearner,
  ) {}

  saltOf(organisationId: number): Promise<WordSalt> {
    return this.salts.of(organisationId);
  }

  /** Predicts the score of each model learned before. Returns nothing if this example was learned already. */
  async predict(organisationId: number, example: Example): Promise<ReadonlyMap<string, Prediction>> {
    const state = await this.states.of(organisationId);
    const predictions = new Map<string, Prediction>();
    if (state === null || state.memory.exampleOf(example.id) !== undefined) return predictions;
    const near = familiarity(state, example, Date.now());
    for (const { model } of example.outcomes) {
      if (!state.models.has(model)) continue;
      const { quality, doubt } = estimate(state, example, near, { model, prior: PRIOR });
      predictions.set(model, { quality, deviation: doubt, stateVersion: state.version });
    }
    return predictions;
  }

  /** Learns an example once, however often the method is called. */
  async learn(organisationId: number, userId: number | null, example: Example): Promise<void> {
    await this.learner.learn(organisationId, userId, example);
  }
}
