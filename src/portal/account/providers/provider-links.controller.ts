import type { ServerResponse } from 'node:http';
import { Controller, Req, Res } from '@nestjs/common';
import { AccountProof } from '../../../identity';
import { fault } from '../../../kernel';
import { IsIn, IsOptional, IsString, MaxLength, Settings } from '../../../platform';
import { Access, Action, actorOf, ClientAddress, type HttpRequest, PortalHosts } from '../../../web';
import { Directories } from '../directories';
import { IsLine, IsPassword } from '../fields';
import { FormResponder } from '../form-responder';
import { SettingsModel } from '../settings-model';
import { IdentityLinks } from './identity-links';
import type { ProviderSlot } from './provider-states';
import { IdentityProviderRegistry } from './identity-provider-registry';

class ProviderLinkForm {
  @IsIn(['idp1', 'idp2'])
  provider: ProviderSlot;

  /** Empty if the user has no password. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

class DirectoryLinkForm {
  @IsLine(100)
  provider: string;

  @IsLine(254)
  user_name: string;

  @IsPassword()
  password: string;

  /** Empty if the user has no password. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

class UnlinkForm {
  @IsLine(500)
  issuer: string;
}

@Controller('/dashboard/settings/providers')
export class ProviderLinksController {
  constructor(
    private readonly providers: IdentityProviderRegistry,
    private readonly directories: Directories,
    private readonly links: IdentityLinks,
    private readonly proof: AccountProof,
    private readonly forms: FormResponder,
    private readonly model: SettingsModel,
    private readonly addresses: ClientAddress,
    private readonly hosts: PortalHosts,
    private readonly settings: Settings,
  ) {}

  /** Requires proof and a form of the portal, because a linked identity is a permanent way to sign in. */
  @Action('link', Access.session(), {
    body: ProviderLinkForm,
    audit: { none: 'nothing is changed before the browser is back from the provider' },
  })
  async link(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const model = await this.model.build(request);
    const formView = { form: ProviderLinkForm, view: this.model.view, model: () => model };
    return this.forms.respond(request, response, formView, async ({ provider, current_password }) => {
      const { userId, sessionId } = actorOf(request);
      if (this.hosts.otherOriginOf(request) !== undefined)
        throw fault('origin_not_allowed', {
          message: `Providers are linked at ${this.settings.baseUrl} only.`,
        });
      const { name } = this.providers.find(provider);
      const address = this.addresses.of(request);
      await this.proof.require(userId, { password: current_password ?? '', sessionId, address });
      const url = await this.providers.startRedirect(provider, response, { linkUserId: userId });
      return { onward: { address: url, provider: name }, body: { ok: true, url } };
    });
  }

  /** Verified immediately, as a directory involves no redirect. */
  @Action('link-directory', Access.session(), { body: DirectoryLinkForm, audit: 'account.identity-linked' })
  async linkDirectory(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const model = await this.model.build(request);
    const formView = { form: DirectoryLinkForm, view: this.model.view, model: () => model };
    return this.forms.respond(request, response, formView, async (form) => {
      const { userId, sessionId } = actorOf(request);
      const address = this.addresses.of(request);
      await this.proof.require(userId, { password: form.current_password ?? '', sessionId, address });
      const credentials = { name: form.user_name, password: form.password, address };
      await this.links.link(await this.directories.authenticate(form.provider, credentials), userId);
      return { to: '/dashboard/settings?saved=provider-linked#providers-heading', body: { ok: true } };
    });
  }

  @Action('unlink', Access.session(), { body: UnlinkForm, audit: 'account.identity-unlinked' })
  async unlink(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const model = await this.model.build(request);
    const formView = { form: UnlinkForm, view: this.model.view, model: () => model };
    return this.forms.respond(request, response, formView, async ({ issuer }) => {
      await this.links.unlink(actorOf(request).userId, issuer);
      return { to: '/dashboard/settings?saved=providers', body: { ok: true } };
    });
  }
}
