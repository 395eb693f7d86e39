import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import {
  CatalogueService,
  type ProviderDetail,
  ProviderDetailService,
  type ProviderView,
  oneTimeCredential,
} from '../../catalogue';
import { fault } from '../../kernel';
import { Database } from '../../platform';
import { type ProbeResult, SupplierProbe, SupplierStyles } from '../../routing';
import { Access, Action, type HttpRequest, PageRenderer, wantsPage } from '../../web';
import { pathBack } from './change-response';
import { ProbeForm } from './providers.dto';
import { providerFields, parseSecretField } from './read-forms';

/** Tests a supplier connection before the provider is saved. Nothing is stored, including typed secrets. */
@Controller()
export class ProbeController {
  constructor(
    private readonly database: Database,
    private readonly catalogue: CatalogueService,
    private readonly providers: ProviderDetailService,
    private readonly styles: SupplierStyles,
    private readonly probe: SupplierProbe,
    private readonly pages: PageRenderer,
  ) {}

  @Action('/dashboard/admin/providers/test', Access.role('platform_admin'), {
    audit: { none: 'a test changes nothing' },
  })
  async test(
    @Body() form: ProbeForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const id = form.provider_id ?? undefined;
    // Secrets on this node can be older than the last change.
    if (id !== undefined) await this.catalogue.reload();
    const details = id === undefined ? null : await this.providers.read(this.database.source.manager, id);
    const provider = providerFromForm(form, details);
    const kind = this.styles.credentialKindOf(provider.style);
    const enteredSecret = kind === undefined ? undefined : parseSecretField(form.secret, kind);
    const result = await this.probe.run({
      provider,
      model: form.upstream_model,
      region: form.region ?? provider.regions[0] ?? 'global',
      operation: form.operation === '' ? undefined : form.operation,
      credential:
        kind === undefined || enteredSecret === undefined
          ? undefined
          : oneTimeCredential(kind, enteredSecret),
      stored: details === null ? undefined : details.provider,
    });
    if (!wantsPage(request)) return presentProbe(result);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const back = pathBack(form.back);
    return this.pages.page('pages/admin/catalogue/probe', { result, name: provider.name, back }, request);
  }
}

/** Returns the provider as it would be saved: stored values fill omitted fields. */
function providerFromForm(form: ProbeForm, details: ProviderDetail | null): ProviderView {
  const stored = details?.provider;
  const { name, style, baseUrl, regions, settings, timeouts, breaker } = {
    ...stored,
    ...providerFields(form),
  };
  if (style === undefined || baseUrl === undefined)
    throw fault('missing_fields', { details: { required: ['style', 'base_url', 'or provider_id'] } });
  return {
    id: stored?.id ?? 0,
    name: name ?? '',
    style,
    baseUrl,
    regions: regions ?? [],
    visible: true,
    settings: settings ?? {},
    timeouts: timeouts ?? {},
    breaker: breaker ?? {},
  };
}

const presentProbe = ({ ok, failure, message, status, latencyMs, address }: ProbeResult) => ({
  ok,
  failure,
  message,
  status,
  latency_ms: latencyMs,
  address,
});
