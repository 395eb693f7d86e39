import { Injectable } from '@nestjs/common';
import { isBudget, limitRefs, Limits } from '../billing';
import { PayerService } from '../identity';
import { Settings } from '../platform';
import { intersectRegions } from './key-directory';
import { presentBudget } from './key-presenter';
import type { ManagedKey } from './managed-key';

@Injectable()
export class EffectiveLimits {
  constructor(
    private readonly limits: Limits,
    private readonly payers: PayerService,
    private readonly settings: Settings,
  ) {}

  async find(key: ManagedKey) {
    const standing = await this.payers.standingOf(key);
    const budgets = limitRefs({ ...standing, keyId: key.id, walletId: null }).filter(isBudget);
    const regions = intersectRegions(key.allowedRegions, standing.organisationRegions);
    return {
      rate_limit_rpm: key.rateLimitRpm ?? this.settings.keyRateLimitRpm,
      allowed_regions: regions && [...regions],
      unknown_fields: key.unknownFields ?? standing.unknownFields ?? this.settings.unknownFields,
      ...presentBudget(await this.limits.tightest(budgets)),
    };
  }
}
