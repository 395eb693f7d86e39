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

/** It stands for a model of which nothing is known. */
const PRIOR = 0.5;

/** Evaluation needs this of what the router knows of an organisation. */
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

  /** It predicts for each model that was learned about before; this very example must not be among what was learned. */
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

  /** Once, however often it is called with the same example. */
  async learn(organisationId: number, userId: number | null, example: Example): Promise<void> {
    await this.learner.learn(organisationId, userId, example);
  }
}
