import { Controller, Get, Param, Req } from '@nestjs/common';
import { RequestRecordQuery } from '../../audit';
import { CatalogueService } from '../../catalogue';
import { fault, isUuid } from '../../kernel';
import { KeyRegister, presentBudget, presentRegions, RateLimiter } from '../../keys';
import { Access, type HttpRequest } from '../../web';
import { callerOf } from '../caller-of';
import { presentGeneration } from './record-presenter';

const NOT_ON_RECORD =
  'This key has made no request with this id, it is not settled yet, or it was refused before a supplier was asked: of such refusals only some are kept.';

/** What a key may ask about itself and about its own requests. */
@Controller('/v1')
@Access.eitherHeader()
export class OwnKeyController {
  constructor(
    private readonly register: KeyRegister,
    private readonly limiter: RateLimiter,
    private readonly records: RequestRecordQuery,
    private readonly catalogue: CatalogueService,
  ) {}

  @Get('key')
  async key(@Req() request: HttpRequest): Promise<object> {
    const caller = callerOf(request);
    const [key, rate] = await Promise.all([
      this.register.get({ kind: 'key', keyId: caller.keyId }, caller.publicId),
      this.limiter.stateOf(caller),
    ]);
    return {
      id: key.publicId,
      object: 'key',
      name: key.name,
      status: key.status,
      ...presentBudget(key),
      allowed_models: key.allowedModels,
      allowed_regions: presentRegions(key),
      rate_limit_rpm: rate.limit,
      rate_limit: {
        limit: rate.limit,
        used: rate.used,
        remaining: rate.remaining,
        resets_at: rate.resetsAt?.toISOString() ?? null,
      },
      metadata: key.metadata,
      expires_at: key.expiresAt?.toISOString() ?? null,
      created: key.createdAt.toISOString(),
    };
  }

  @Get('generations/:request_id')
  async generation(@Param('request_id') requestId: string, @Req() request: HttpRequest): Promise<object> {
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
