import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { CatalogueService, ModelSheets, readCurrent } from '../../catalogue';
import { fault, refuseStale } from '../../kernel';
import { Database, IsOptional, IsString, MaxLength } from '../../platform';
import {
  type ComparedModel,
  type ComparedProvider,
  compareWithVendors,
  factsToTake,
  ModelLists,
  takeToldFacts,
} from '../../routing';
import { overrideFields } from '../../vendors';
import { Access, Action, type Done, type HttpRequest, PageRenderer, PathId, wantsPage } from '../../web';
import { changed, pathBack } from './answers';
import { Flag, Line } from './fields';
import { FromPage, ReasonForm } from './forms';
import { presentModel } from './present';

const PLATFORM = Access.role('platform_admin');
const PATH = '/dashboard/admin/providers/:provider_id/vendor-models';

class TakeForm extends FromPage {
  @Line(128)
  model: string;

  /** The provider's name of the model: a model may have several there. */
  @Line(256)
  upstream_model: string;

  /** It also takes over figures that set less aside for requests. */
  @IsOptional()
  @Flag()
  lower?: boolean;

  /** The version of the differences that were shown. Without one, all present differences are taken over. */
  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}

/** The page compares a vendor's own list of models with the catalogue. */
@Controller()
export class VendorModelsController {
  constructor(
    private readonly database: Database,
    private readonly catalogue: CatalogueService,
    private readonly lists: ModelLists,
    private readonly sheets: ModelSheets,
    private readonly activity: ActivityLog,
    private readonly pages: PageRenderer,
  ) {}

  @Action(PATH, PLATFORM, { audit: { none: 'a comparison changes nothing' } })
  async compare(
    @PathId('provider_id') id: number,
    @Body() form: ReasonForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    // This node's copy of secrets may be older than the last change.
    await this.catalogue.reload();
    const compared = await this.compared(id);
    if (!wantsPage(request)) return presentCompared(compared);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const models = compared.models.filter(isDifferent).map(shownModel);
    const shown = { ...compared, models, id, back: pathBack(form.back) };
    return this.pages.page('pages/admin/catalogue/vendor-models', shown, request);
  }

  /** The vendor is asked once more: a form brings no figures. */
  @Action(`${PATH}/take`, PLATFORM, { audit: 'model.changed' })
  async take(@PathId('provider_id') id: number, @Body() form: TakeForm): Promise<Done> {
    const { provider, problem, models } = await this.compared(id);
    if (problem !== null) throw fault('upstream_error', { message: `${provider}: ${problem}` });
    const found = models.find(
      ({ model, upstreamModel }) => model === form.model && upstreamModel === form.upstream_model,
    );
    if (found === undefined) throw fault('not_found', { param: 'model' });
    refuseStale(form.version, found.version);
    const facts = factsToTake(found, form.lower === true);
    const sheet = await this.database.transaction(async (tx) => {
      if (Object.keys(facts).length > 0) {
        const tools = { sheets: this.sheets, activity: this.activity };
        return takeToldFacts(tx, tools, { model: form.model, facts, provider, reason: form.reason });
      }
      this.activity.nothingChanged();
      return this.sheets.read(tx, form.model);
    });
    return changed(form, {
      text: 'catalogue.done.saved',
      facts: presentModel(sheet),
    });
  }

  private async compared(id: number): Promise<ComparedProvider> {
    const current = await readCurrent(this.database.source.manager);
    const provider = [...current.providers.values()].find((one) => one.id === id);
    if (provider === undefined) throw fault('not_found', { param: 'provider_id' });
    const [compared] = await compareWithVendors(this.lists, current, provider.name);
    if (compared === undefined) throw fault('not_found', { param: 'provider_id' });
    return compared;
  }
}

const isDifferent = ({ listed, differences }: ComparedModel): boolean => !listed || differences.length > 0;

/** Each button is there where it would change something. */
const shownModel = (model: ComparedModel) => {
  const [most, usual] = [factsToTake(model, true), factsToTake(model, false)].map(overrideFields);
  const isMore = JSON.stringify(most) !== JSON.stringify(usual);
  return {
    ...model,
    takes: !model.managed && Object.keys(usual ?? {}).length > 0,
    lowers: !model.managed && isMore,
    facts: model.managed && Object.keys(most ?? {}).length > 0 ? JSON.stringify(most) : null,
    href: `/dashboard/admin/models/edit?model=${encodeURIComponent(model.model)}`,
  };
};

const presentCompared = ({ provider, listed, problem, models }: ComparedProvider) => ({
  object: 'vendor_models',
  provider,
  listed,
  problem,
  models: models.map(({ model, upstreamModel, listed: isListed, managed, differences, version }) => ({
    model,
    upstream_model: upstreamModel,
    listed: isListed,
    managed,
    differences: differences.map(({ fact, known, told, change, lowers }) => ({
      fact,
      known,
      told,
      change: change === null ? null : overrideFields(change),
      lowers,
    })),
    version,
  })),
});
