import { Body, Controller, Param, Req } from '@nestjs/common';
import { HostProofs, Organisations, objectActs, ResellerDomains, invalidLogo } from '../../../identity';
import { fault } from '../../../kernel';
import { Database } from '../../../platform';
import { Access, Action, adminScope, done, type ActionResult, type HttpRequest, Page } from '../../../web';
import { OrganisationParams } from '../organisations.dto';
import { DomainForm, DomainNameForm } from './domains.dto';

const path = '/dashboard/admin/organisations/:org_id/domains';
const view = 'pages/admin/domains';
const access = () => Access.role(objectActs.organisations);
const MAX_FORM_BYTES = 256 * 1024;
const PNG = /^data:image\/png;base64,([A-Za-z0-9+/]+={0,2})$/;

const pathOf = (id: number): string => path.replace(':org_id', String(id));

@Controller()
export class DomainsController {
  constructor(
    private readonly database: Database,
    private readonly organisations: Organisations,
    private readonly domains: ResellerDomains,
    private readonly proofs: HostProofs,
  ) {}

  @Page(path, view, access())
  show(@Param() { org_id: id }: OrganisationParams, @Req() request: HttpRequest) {
    return this.model(request, id);
  }

  @Action(path, access(), {
    audit: 'organisation.domain-set',
    bodyLimitBytes: MAX_FORM_BYTES,
    takesFiles: true,
  })
  async set(
    @Param() { org_id: id }: OrganisationParams,
    @Body() form: DomainForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const { host, name } = form;
    await this.organisations.get(adminScope(request), id);
    await this.database.transaction((tx) =>
      this.domains.set(tx, id, host, { name, accents: accentsOf(form), logo: logoOf(form) }),
    );
    // Checks immediately, because the DNS record can already exist.
    const { isProven } = await this.proofs.check(id, host);
    return this.respond(id, { host, text: 'domains.saved', isProven });
  }

  @Action(`${path}/check`, access(), {
    audit: { none: 'a proof that begins or ends writes its own entry' },
  })
  async check(
    @Param() { org_id: id }: OrganisationParams,
    @Body() { host }: DomainNameForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    await this.organisations.get(adminScope(request), id);
    const { isProven, result } = await this.proofs.check(id, host);
    const text = `domains.checked.${result ?? 'unanswered'}`;
    return this.respond(id, { host, text, isProven });
  }

  @Action(`${path}/delete`, access(), { audit: 'organisation.domain-removed' })
  async remove(
    @Param() { org_id: id }: OrganisationParams,
    @Body() { host }: DomainNameForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    await this.organisations.get(adminScope(request), id);
    await this.database.transaction((tx) => this.domains.remove(tx, id, host));
    return this.respond(id, { host, text: 'domains.removed' });
  }

  private respond(
    id: number,
    { host, text, isProven }: { host: string; text: string; isProven?: boolean },
  ): ActionResult {
    const body = { ok: true, org_id: id, host, ...(isProven !== undefined && { proven: isProven }) };
    return done(pathOf(id), body, { tone: isProven === false ? 'warn' : 'ok', text, values: { host } });
  }

  private async model(request: HttpRequest, id: number) {
    const organisation = await this.organisations.get(adminScope(request), id);
    const domains = await this.domains.ofOrganisation(id);
    const proofs = new Map((await this.proofs.ofOrganisation(id)).map((proof) => [proof.host, proof]));
    return {
      organisation: { id, name: organisation.name },
      domains: domains.map((domain) => ({
        ...domain,
        href: this.domains.originOf(domain),
        proof: proofs.get(domain.host),
      })),
    };
  }
}

/** Both accents are set or neither: a colour readable in one theme is seldom readable in the other. */
function accentsOf({
  accent = null,
  accent_dark: dark = null,
}: DomainForm): { light: string; dark: string } | null {
  if (accent === null && dark === null) return null;
  if (accent === null || dark === null)
    throw fault('missing_fields', {
      message: 'An accent is a pair: one colour for light pages and one for dark ones.',
      details: { required: ['accent', 'accent_dark'] },
    });
  return { light: accent, dark };
}

/** Returns undefined to keep the logo, and null to remove it. */
function logoOf({ logo, remove_logo: remove }: DomainForm): Buffer | null | undefined {
  if (remove === true) return null;
  if (logo === undefined || logo === '') return undefined;
  const [, content] = PNG.exec(logo) ?? [];
  if (content === undefined) throw invalidLogo();
  return Buffer.from(content, 'base64');
}
