import { Injectable } from '@nestjs/common';
import { CatalogueService, type ModelAudience, type ModelView } from '../catalogue';
import { fault } from '../kernel';
import { callableModels } from '../gateway';

/** A model that a person may chat with, and what it asks for at least. */
export interface ChatModel {
  readonly name: string;
  readonly displayName: string;
  readonly takesImages: boolean;
  /** Nano-dollars a million tokens on its cheapest lane; null where nothing can be sold now. */
  readonly price: { readonly input: bigint; readonly output: bigint } | null;
}

@Injectable()
export class ChatModels {
  constructor(private readonly catalogue: CatalogueService) {}

  /** In the order of the catalogue. */
  for(audience: ModelAudience): ChatModel[] {
    const person = { allowedModels: null, attribution: audience };
    return callableModels(person, this.catalogue.snapshot, 'chat').map((model) => this.chatModel(model));
  }

  /** The one of this name, or the refusal. */
  one(audience: ModelAudience, name: string): ChatModel {
    const found = this.for(audience).find((model) => model.name === name);
    if (found === undefined) throw fault('model_not_accessible', { param: 'model' });
    return found;
  }

  /** The named one, or the first of the catalogue for a person who names none. */
  chosen(audience: ModelAudience, name: string | undefined): ChatModel {
    if (name !== undefined && name !== '') return this.one(audience, name);
    const [first] = this.for(audience);
    if (first === undefined) throw fault('model_not_available', { param: 'model' });
    return first;
  }

  private chatModel(model: ModelView): ChatModel {
    const resolution = this.catalogue.resolve(model.name);
    const rates = resolution.kind === 'found' ? resolution.lanes.map(({ price }) => price.rates) : [];
    const [lowest] = rates.sort((a, b) => Number(a.input - b.input) || Number(a.output - b.output));
    return {
      name: model.name,
      displayName: model.displayName,
      takesImages: model.inputModalities.includes('image'),
      price: lowest === undefined ? null : { input: lowest.input, output: lowest.output },
    };
  }
}
