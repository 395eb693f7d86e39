import { Body, Controller, Param, Req } from '@nestjs/common';
import { type Markup, OrganisationMarkups, Organisations, objectActs } from '../../identity';
import { formatMultiplier } from '../../kernel';
import {
  Access,
  Action,
  actorOf,
  adminScope,
  done,
  type ActionResult,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
} from '../../web';
import type { ObjectPageModel } from '../pages/object-page';
import { MILLIONTHS_PER_PERCENT, FULL_PRICE_FACTOR } from './markup-factor';
import { markupPage } from './markup-page';
import { OrganisationParams } from './organisations.dto';
import { MarkupForm } from './markups.dto';

const path = '/dashboard/admin/organisations';
const access = () => Access.role(objectActs.markups);

@Controller()
export class MarkupsController {
  constructor(
    private readonly organisations: Organisations,
    private readonly markups: OrganisationMarkups,
    private readonly pages: PageRenderer,
  ) {}

  @Page(`${path}/:org_id/markup`, 'pages/admin/object', access())
  async show(
    @Param() { org_id: id }: OrganisationParams,
    @Req() request: HttpRequest,
  ): Promise<ObjectPageModel> {
    const { name } = await this.organisations.get(adminScope(request), id);
    const versions = await this.markups.list(id);
    return markupPage({ id, name }, versions, localisationOf(this.pages, request).translate);
  }

  @Action(`${path}/:org_id/markup`, access(), { audit: 'organisation.markup-changed' })
  async set(
    @Param() { org_id: id }: OrganisationParams,
    @Body() form: MarkupForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const factor = FULL_PRICE_FACTOR + Math.round(Number(form.percent) * MILLIONTHS_PER_PERCENT);
    const { valid_from: from } = form;
    await this.markups.set(adminScope(request), id, {
      factor,
      validFrom: from ?? null,
      reason: form.reason === undefined || form.reason === '' ? null : form.reason,
      createdBy: actorOf(request).userId,
    });
    return done(
      `${path}/${id}/markup`,
      {
        ok: true,
        id,
        price_factor: formatMultiplier(BigInt(factor)),
        versions: (await this.markups.list(id)).map(presentMarkup),
      },
      'administration.saved',
    );
  }
}

const presentMarkup = ({ factor, validFrom, isInForce, reason }: Markup) => ({
  price_factor: formatMultiplier(BigInt(factor)),
  valid_from: validFrom.toISOString(),
  in_force: isInForce,
  reason,
});
