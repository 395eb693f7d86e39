import { Controller, Get, Param, Req } from '@nestjs/common';
import { presentUsage, RequestRecordQuery, UsageQuery, toUsageRequest } from '../../audit';
import { CatalogueService } from '../../catalogue';
import { fault, isUuid, rejectUnknownFields, integerField } from '../../kernel';
import { KeyRegister, presentFields, RateLimiter, type RateState } from '../../keys';
import { Access, type HttpRequest, queryOf } from '../../web';
import { callerOf } from '../intake';
import { presentGeneration } from './record-presenter';

const NOT_RECORDED_MESSAGE =
  'This key has made no request with this id, it is not settled yet, or it was refused before a supplier was asked: of such refusals only some are kept.';

const MAX_DAYS = 800;
const MAX_GROUPS = 100;
const USAGE_PARAMETERS = [
  'from',
  'to',
  'days',
  'bucket',
  'group_by',
  'zone',
  'model',
  'supplier',
  'region',
  'end_user',
  'tag',
];

const presentRate = ({ limit, used, remaining, resetsAt }: RateState) => ({
  limit,
  used,
  remaining,
  resets_at: resetsAt?.toISOString() ?? null,
});

@Controller('/v1')
@Access.eitherHeader()
export class OwnKeyController {
  constructor(
    private readonly register: KeyRegister,
    private readonly limiter: RateLimiter,
    private readonly records: RequestRecordQuery,
    private readonly catalogue: CatalogueService,
    private readonly usage: UsageQuery,
  ) {}

  @Get('key')
  async key(@Req() request: HttpRequest) {
    const caller = callerOf(request);
    const [key, rate, tokens, parallel] = await Promise.all([
      this.register.get({ kind: 'key', keyId: caller.keyId }, caller.publicId),
      this.limiter.stateOf(caller),
      this.limiter.tokensOf(caller),
      this.limiter.parallelOf(caller),
    ]);
    return {
      id: key.publicId,
      object: 'key',
      ...presentFields(key),
      rate_limit_rpm: rate.limit,
      rate_limit: presentRate(rate),
      token_limit: tokens === null ? null : presentRate(tokens),
      parallel: parallel === null ? null : { limit: parallel.limit, open: parallel.open },
    };
  }

  @Get('usage')
  async usageOfKey(@Req() request: HttpRequest) {
    const { keyId } = callerOf(request);
    const parameters = Object.fromEntries(queryOf(request));
    rejectUnknownFields(parameters, USAGE_PARAMETERS);
    const days = parameters.days === undefined ? null : integerField(parameters.days, 'days', 1, MAX_DAYS);
    const query = { ...toUsageRequest({ ...parameters, days }, Date.now()), mostGroups: MAX_GROUPS };
    return presentUsage(query, await this.usage.read({ kind: 'key', keyId }, query));
  }

  @Get('generations/:request_id')
  async generation(@Param('request_id') requestId: string, @Req() request: HttpRequest) {
    const { keyId, publicId } = callerOf(request);
    const entry = isUuid(requestId) ? await this.records.ofRequest(keyId, requestId) : null;
    if (entry === null) {
      throw fault('not_found', {
        param: 'request_id',
        message: NOT_RECORDED_MESSAGE,
      });
    }
    return presentGeneration(entry, publicId, this.catalogue.snapshot);
  }
}
