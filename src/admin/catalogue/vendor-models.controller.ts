import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { CatalogueService, ModelDetailService, readCurrent } from '../../catalogue';
import { fault, rejectStale } from '../../kernel';
import { Database } from '../../platform';
import {
  type ComparedModel,
  type ComparedProvider,
  compareWithVendors,
  applicableFacts,
  ModelLists,
  applyListedFacts,
} from '../../routing';
import { overrideFields } from '../../vendors';
import {
  Access,
  Action,
  type ActionResult,
  type HttpRequest,
  PageRenderer,
  PathId,
  wantsPage,
} from '../../web';
import { respondWithChange, pathBack } from './change-response';
import { ReasonForm } from './catalogue.dto';
import { presentModel } from './present';
import { TakeDifferencesForm } from './vendor-models.dto';

const PLATFORM = Access.role('platform_admin');
const PATH = '/dashboard/admin/providers/:provider_id/vendor-models';

@Controller()
export class VendorModelsController {
  constructor(
    private readonly database: Database,
    private readonly catalogue: CatalogueService,
    private readonly lists: ModelLists,
    private readonly models: ModelDetailService,
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
    // Secrets on this node can be older than the last change.
    await this.catalogue.reload();
    const comparison = await this.compareProvider(id);
    if (!wantsPage(request)) return presentCompared(comparison);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const models = comparison.models.filter(isDifferent).map(modelView);
    const pageModel = { ...comparison, models, id, back: pathBack(form.back) };
    return this.pages.page('pages/admin/catalogue/vendor-models', pageModel, request);
  }

  /** Queries the vendor again, so that no figures are taken from the form. */
  @Action(`${PATH}/take`, PLATFORM, { audit: 'model.changed' })
  async take(@PathId('provider_id') id: number, @Body() form: TakeDifferencesForm): Promise<ActionResult> {
    const { provider, problem, models } = await this.compareProvider(id);
    if (problem !== null) throw fault('upstream_error', { message: `${provider}: ${problem}` });
    const match = models.find(
      ({ model, upstreamModel }) => model === form.model && upstreamModel === form.upstream_model,
    );
    if (match === undefined) throw fault('not_found', { param: 'model' });
    rejectStale(form.version, match.version);
    const facts = applicableFacts(match, form.lower === true);
    const details = await this.database.transaction(async (tx) => {
      if (Object.keys(facts).length > 0) {
        const services = { sheets: this.models, activity: this.activity };
        return applyListedFacts(tx, services, { model: form.model, facts, provider, reason: form.reason });
      }
      this.activity.reportNoChange();
      return this.models.read(tx, form.model);
    });
    return respondWithChange(form, {
      text: 'catalogue.done.saved',
      body: presentModel(details),
    });
  }

  private async compareProvider(id: number): Promise<ComparedProvider> {
    const current = await readCurrent(this.database.source.manager);
    const provider = [...current.providers.values()].find((one) => one.id === id);
    if (provider === undefined) throw fault('not_found', { param: 'provider_id' });
    const [comparison] = await compareWithVendors(this.lists, current, provider.name);
    if (comparison === undefined) throw fault('not_found', { param: 'provider_id' });
    return comparison;
  }
}

const isDifferent = ({ listed, differences }: ComparedModel): boolean => !listed || differences.length > 0;

const modelView = (model: ComparedModel) => {
  const [allFacts, usualFacts] = [applicableFacts(model, true), applicableFacts(model, false)].map(
    overrideFields,
  );
  const hasLoweringFacts = JSON.stringify(allFacts) !== JSON.stringify(usualFacts);
  return {
    ...model,
    takes: !model.managed && Object.keys(usualFacts ?? {}).length > 0,
    lowers: !model.managed && hasLoweringFacts,
    facts: model.managed && Object.keys(allFacts ?? {}).length > 0 ? JSON.stringify(allFacts) : null,
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
