import { Injectable } from '@nestjs/common';
import { isAdministrator, type Scope } from '../../../kernel';
import { QualitySettingsStore } from '../../../quality';
import { actorOf, type HttpRequest, viewScope } from '../../../web';

/** `off`: evaluation is disabled. `closed`: the reader cannot see the reports. */
export type QualityView =
  { readonly state: 'off' | 'closed' } | { readonly state: 'open'; readonly scope: Scope };

/** Applies the organisation's setting for who can read quality reports. */
@Injectable()
export class QualityAccess {
  constructor(private readonly settings: QualitySettingsStore) {}

  async resolve(request: HttpRequest): Promise<QualityView> {
    const { role, organisationId: ownOrganisationId } = actorOf(request);
    const scope = viewScope(request);
    if (scope.kind === 'platform') return { state: 'open', scope };
    const organisationId = 'organisationId' in scope ? scope.organisationId : ownOrganisationId;
    if (organisationId === null) return { state: 'off' };
    const { availability } = await this.settings.findEffective(organisationId);
    if (availability === 'off') return { state: 'off' };
    if (availability === 'admins' && !isAdministrator(role)) return { state: 'closed' };
    return { state: 'open', scope };
  }
}
