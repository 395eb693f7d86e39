import { Body, Controller, Req } from '@nestjs/common';
import {
  AlertChannels,
  type AlertOwner,
  AlertRules,
  ALERTS_PATH,
  kindsOf,
  minutesOf,
  ownerOf,
  parameterNames,
} from '../../alerts';
import { fault, instantField, invalidField } from '../../kernel';
import {
  Access,
  Action,
  adminScope,
  done,
  type ActionResult,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  PathText,
} from '../../web';
import { AlertRuleForm, AlertSettingsForm } from './alerts.dto';
import { rulesPage } from './rules-model';

const RULES_PATH = `${ALERTS_PATH}/rules`;
const access = () => Access.role('org_admin');

@Controller()
export class AlertRulesController {
  constructor(
    private readonly rules: AlertRules,
    private readonly channels: AlertChannels,
    private readonly pages: PageRenderer,
  ) {}

  @Page(RULES_PATH, 'pages/admin/object', access())
  async show(@Req() request: HttpRequest) {
    const owner = ownerOf(adminScope(request));
    const [{ settings, rules }, channels] = await Promise.all([
      this.rules.of(owner),
      this.channels.of(owner),
    ]);
    const context = { kinds: kindsOf(owner), settings, rules, channels };
    return rulesPage(request, context, localisationOf(this.pages, request));
  }

  @Action(`${ALERTS_PATH}/settings`, access(), { audit: 'alert.settings-changed' })
  async setSettings(@Body() form: AlertSettingsForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const { quiet_from: from = null, quiet_to: to = null } = form;
    if ((from === null) !== (to === null))
      throw invalidField(from === null ? 'quiet_from' : 'quiet_to', 'given together with the other end', {
        reason: 'quiet-hours',
      });
    const settings = {
      timeZone: form.time_zone,
      quietFrom: from === null ? null : minutesOf(from),
      quietTo: to === null ? null : minutesOf(to),
      urgentBreaksQuiet: form.urgent_breaks_quiet,
      repeatHours: form.repeat_hours,
    };
    await this.rules.setSettings(ownerOf(adminScope(request)), settings, form.version);
    return done(RULES_PATH, { ok: true }, 'alerts.saved');
  }

  @Action(`${RULES_PATH}/:kind`, access(), { audit: 'alert.rule-changed' })
  async setRule(
    @PathText('kind') name: string,
    @Body() form: AlertRuleForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const owner = ownerOf(adminScope(request));
    const kind = kindsOf(owner).find((each) => each.name === name);
    if (kind === undefined)
      throw fault('not_found', { message: 'There is no such kind of alert.', details: { reason: 'gone' } });
    const before = (await this.rules.of(owner)).rules.get(kind.name)!;
    const inputParameters = parameterNames.filter((parameter) => form[parameter] !== undefined);
    const unsupported = inputParameters.find((parameter) => kind.parameters[parameter] === undefined);
    if (unsupported !== undefined)
      throw invalidField(unsupported, 'left out: this kind of alert does not know it');
    const { muted_until: mutedUntil } = form;
    const rule = {
      enabled: form.enabled,
      parameters: {
        ...before.parameters,
        ...Object.fromEntries(inputParameters.map((parameter) => [parameter, form[parameter]!])),
      },
      channels: await this.validateChannels(owner, form.channels),
      mutedUntil:
        mutedUntil === undefined || mutedUntil === null ? null : instantField(mutedUntil, 'muted_until'),
    };
    await this.rules.setRule(owner, kind, rule, form.version);
    return done(RULES_PATH, { ok: true, kind: kind.name }, 'alerts.saved');
  }

  private async validateChannels(
    owner: AlertOwner,
    ids: readonly number[] | undefined,
  ): Promise<number[] | null> {
    if (ids === undefined || ids.length === 0) return null;
    const ownChannelIds = new Set((await this.channels.of(owner)).map(({ id }) => id));
    if (ids.some((id) => !ownChannelIds.has(id)))
      throw invalidField('channels', 'channels of the same owner');
    return [...new Set(ids)].sort((one, other) => one - other);
  }
}
