import { Injectable } from '@nestjs/common';
import { type Example, type WordSalt, wordSalt } from '../../routing';

export interface Prediction {
  readonly quality: number;
  readonly deviation: number;
  readonly stateVersion: number;
}

/** What the router knows of an organisation, as far as evaluation needs it. */
@Injectable()
export class RouterMemory {
  saltOf(organisationId: number): Promise<WordSalt> {
    return Promise.resolve(wordSalt(String(organisationId)));
  }

  /** Of each model, by what was learned before; empty where nothing was. */
  predict(_organisationId: number, _example: Example): Promise<ReadonlyMap<string, Prediction>> {
    return Promise.resolve(new Map());
  }

  learn(_organisationId: number, _example: Example): Promise<void> {
    return Promise.resolve();
  }
}
