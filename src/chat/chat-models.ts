import { Injectable } from '@nestjs/common';
import { CatalogueService, type ModelAudience, type ModelView } from '../catalogue';
import { answersAuto, AutoPolicies } from '../autorouter';
import { AUTO, callableModels } from '../gateway';
import { fault } from '../kernel';
import { SupplierStyles } from '../routing';

export interface ChatModel {
  readonly name: string;
  readonly displayName: string;
  readonly takesImages: boolean;
  /** In nano-dollars per million tokens on the cheapest lane; null if no lane can be sold now. */
  readonly price: { readonly input: bigint; readonly output: bigint } | null;
}

type ChatUser = ModelAudience & { readonly userId: number };

@Injectable()
export class ChatModels {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly policies: AutoPolicies,
    private readonly styles: SupplierStyles,
  ) {}

  /** Models in catalogue order; `auto` comes first if there is a choice and the user's policy allows it. */
  async listFor(user: ChatUser): Promise<ChatModel[]> {
    const caller = { allowedModels: null, allowedRegions: null, attribution: user };
    const { snapshot } = this.catalogue;
    const models = callableModels(caller, snapshot, { kind: 'chat' })
      .filter((model) => this.styles.kindOf(model) === 'chat')
      .map((model) => this.chatModel(model));
    if (models.length < 2 || snapshot.model(AUTO) !== undefined || !(await this.canUseAuto(user)))
      return models;
    const takesImages = models.some((model) => model.takesImages);
    return [{ name: AUTO, displayName: AUTO, takesImages, price: null }, ...models];
  }

  async get(user: ChatUser, name: string): Promise<ChatModel> {
    const model = (await this.listFor(user)).find((candidate) => candidate.name === name);
    if (model === undefined) throw fault('model_not_accessible', { param: 'model' });
    return model;
  }

  async getOrDefault(user: ChatUser, name: string | undefined): Promise<ChatModel> {
    if (name !== undefined && name !== '') return this.get(user, name);
    const first = (await this.listFor(user)).find((model) => model.name !== AUTO);
    if (first === undefined) throw fault('model_not_available', { param: 'model' });
    return first;
  }

  private async canUseAuto({ organisationId, userId }: ChatUser): Promise<boolean> {
    return answersAuto(await this.policies.of({ organisationId, userId, keyId: null }));
  }

  private chatModel(model: ModelView): ChatModel {
    const resolution = this.catalogue.resolve(model.name);
    const rates = resolution.kind === 'found' ? resolution.lanes.map(({ price }) => price.rates) : [];
    const [cheapest] = rates.sort((a, b) => Number(a.input - b.input) || Number(a.output - b.output));
    return {
      name: model.name,
      displayName: model.displayName,
      takesImages: model.inputModalities.includes('image'),
      price: cheapest === undefined ? null : { input: cheapest.input, output: cheapest.output },
    };
  }
}
