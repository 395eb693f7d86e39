import { Controller, Query, Req } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { type ChosenModel, ChosenModelsQuery } from '../../audit';
import { PersonalSettings } from '../../identity';
import { toJsonNumber } from '../../kernel';
import { Settings } from '../../platform';
import { AUTO } from '../../routing';
import type { TableModel, Translate } from '../../views';
import {
  Access,
  actorOf,
  Data,
  type HttpRequest,
  Page,
  PageRenderer,
  viewScope,
  periodWords,
  scopeWords,
} from '../../web';
import { DAY_MS } from '../lists/days';
import { looksOf } from '../lists/looks';

const USUAL_DAYS = 30;
const MOST_DAYS = 365;
const choices = [7, 30, 90] as const;

class AutorouterQuery {
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(MOST_DAYS)
  days?: number;
}

/** What became of the requests that asked for `auto`, and which rule chose. */
@Controller()
export class AutorouterController {
  constructor(
    private readonly models: ChosenModelsQuery,
    private readonly personal: PersonalSettings,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/dashboard/autorouter', 'pages/dashboard/autorouter', Access.session())
  async show(@Query() { days = USUAL_DAYS }: AutorouterQuery, @Req() request: HttpRequest): Promise<object> {
    const { translate, timeZone } = looksOf(this.pages, request);
    const [chosen, isHelpClosed] = await Promise.all([
      this.chosen(request, days),
      this.personal.isHelpClosed(actorOf(request).userId, 'autorouter'),
    ]);
    return {
      scope: `${periodWords(days, timeZone, translate)} · ${scopeWords(request, translate)}`,
      isHelpClosed,
      model: this.settings.autoModel ?? null,
      periods: {
        options: choices.map((choice) => ({
          label: translate('overview.days', { count: choice }),
          href: `/dashboard/autorouter?days=${choice}`,
          current: choice === days,
        })),
        zone: timeZone,
      },
      table: tableOf(chosen, translate),
    };
  }

  @Data('/dashboard/api/autorouter', Access.session())
  async data(@Query() { days = USUAL_DAYS }: AutorouterQuery, @Req() request: HttpRequest): Promise<object> {
    const chosen = await this.chosen(request, days);
    return {
      object: 'autorouter',
      days,
      engine: 'off',
      rule: 'reference_model',
      reference_model: this.settings.autoModel ?? null,
      requests: chosen.reduce((sum, { requests }) => sum + requests, 0),
      cost: toJsonNumber(chosen.reduce((sum, { costNano }) => sum + costNano, 0n)),
      models: chosen.map(({ model, requests, failures, costNano, meanLatencyMs }) => ({
        model,
        requests,
        failures,
        cost: toJsonNumber(costNano),
        mean_latency_ms: Math.round(meanLatencyMs),
      })),
    };
  }

  private chosen(request: HttpRequest, days: number): Promise<ChosenModel[]> {
    return this.models.of(viewScope(request), AUTO, new Date(Date.now() - days * DAY_MS));
  }
}

function tableOf(chosen: readonly ChosenModel[], translate: Translate): TableModel {
  const total = chosen.reduce((sum, { requests }) => sum + requests, 0);
  const end = 'end' as const;
  return {
    caption: translate('autorouter.chosen'),
    columns: [
      { label: translate('requests.model') },
      { label: translate('overview.requests'), align: end },
      { label: translate('autorouter.share'), align: end, minor: true },
      { label: translate('autorouter.mean-cost'), align: end },
      { label: translate('requests.latency'), align: end, minor: true },
      { label: translate('models.success'), align: end, minor: true },
    ],
    rows: chosen.map(({ model, requests, failures, costNano, meanLatencyMs }) => ({
      cells: [
        { kind: 'text', value: model ?? translate('autorouter.none-chosen'), heading: true },
        { kind: 'number', value: requests, align: end },
        { kind: 'percent', value: requests / total, align: end, minor: true },
        { kind: 'cost', value: costNano / BigInt(requests), align: end },
        { kind: 'latency', value: meanLatencyMs, align: end, minor: true },
        { kind: 'percent', value: 1 - failures / requests, align: end, minor: true },
      ],
    })),
    empty: { title: translate('autorouter.none-title'), text: translate('autorouter.none-text') },
  };
}
