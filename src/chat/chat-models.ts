import { Injectable } from '@nestjs/common';
import { CatalogueService, type ModelAudience, type ModelView } from '../catalogue';
import { answersAuto, AutoPolicies } from '../autorouter';
import { AUTO, callableModels } from '../gateway';
import { fault } from '../kernel';
import { SupplierStyles } from '../routing';

/** A model that a person may chat with, and what it asks for at least. */
export interface ChatModel {
  readonly name: string;
  readonly displayName: string;
  readonly takesImages: boolean;
  /** It is in nano-dollars a million tokens on its cheapest lane; null where nothing can be sold now. */
  readonly price: { readonly input: bigint; readonly output: bigint } | null;
}

type Person = ModelAudience & { readonly userId: number };

@Injectable()
export class ChatModels {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly policies: AutoPolicies,
    private readonly styles: SupplierStyles,
  ) {}

  /** They are in the order of the catalogue; `auto` comes first where there is a choice and it is not switched off. */
  async for(person: Person): Promise<ChatModel[]> {
    const caller = { allowedModels: null, allowedRegions: null, attribution: person };
    const { snapshot } = this.catalogue;
    const models = callableModels(caller, snapshot, { kind: 'chat' })
      .filter((model) => this.styles.kindOf(model) === 'chat')
      .map((model) => this.chatModel(model));
    if (models.length < 2 || snapshot.model(AUTO) !== undefined || !(await this.mayChoose(person)))
      return models;
    const takesImages = models.some((model) => model.takesImages);
    return [{ name: AUTO, displayName: AUTO, takesImages, price: null }, ...models];
  }

  /** The one of this name, or the refusal. */
  async one(person: Person, name: string): Promise<ChatModel> {
    const found = (await this.for(person)).find((model) => model.name === name);
    if (found === undefined) throw fault('model_not_accessible', { param: 'model' });
    return found;
  }

  /** The named one, or the first of the catalogue for a person who names none. */
  async chosen(person: Person, name: string | undefined): Promise<ChatModel> {
    if (name !== undefined && name !== '') return this.one(person, name);
    const first = (await this.for(person)).find((model) => model.name !== AUTO);
    if (first === undefined) throw fault('model_not_available', { param: 'model' });
    return first;
  }

  private async mayChoose({ organisationId, userId }: Person): Promise<boolean> {
    return answersAuto(await this.policies.of({ organisationId, userId, keyId: null }));
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
