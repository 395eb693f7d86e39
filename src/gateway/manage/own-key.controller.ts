import { Controller, Get, Param, Req } from '@nestjs/common';
import { presentUsage, RequestRecordQuery, UsageQuery, usageQuestionOf } from '../../audit';
import { CatalogueService } from '../../catalogue';
import { fault, isUuid, refuseUnknownFields, wholeNumberField } from '../../kernel';
import { KeyRegister, presentFields, RateLimiter, type RateState } from '../../keys';
import { Access, type HttpRequest, queryOf } from '../../web';
import { callerOf } from '../intake';
import { presentGeneration } from './record-presenter';

const NOT_ON_RECORD =
  'This key has made no request with this id, it is not settled yet, or it was refused before a supplier was asked: of such refusals only some are kept.';

const MOST_DAYS = 800;
const MOST_GROUPS = 100;
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

/** A key may ask these questions about itself and about its own requests. */
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

  /** The sums say what this key used, by bucket, grouped and narrowed as asked. */
  @Get('usage')
  async usageOfKey(@Req() request: HttpRequest) {
    const { keyId } = callerOf(request);
    const asked = Object.fromEntries(queryOf(request));
    refuseUnknownFields(asked, USAGE_PARAMETERS);
    const days = asked.days === undefined ? null : wholeNumberField(asked.days, 'days', 1, MOST_DAYS);
    const question = { ...usageQuestionOf({ ...asked, days }, Date.now()), mostGroups: MOST_GROUPS };
    return presentUsage(question, await this.usage.ask({ kind: 'key', keyId }, question));
  }

  @Get('generations/:request_id')
  async generation(@Param('request_id') requestId: string, @Req() request: HttpRequest) {
    const { keyId, publicId } = callerOf(request);
    const entry = isUuid(requestId) ? await this.records.ofRequest(keyId, requestId) : null;
    if (entry === null) {
      throw fault('not_found', {
        param: 'request_id',
        message: NOT_ON_RECORD,
      });
    }
    return presentGeneration(entry, publicId, this.catalogue.snapshot);
  }
}
