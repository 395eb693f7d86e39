import { CreateRoles1763700000000 } from './1763700000000-create-roles';
import { CreateIdentity1763700100000 } from './1763700100000-create-identity';
import { CreateKeys1763700120000 } from './1763700120000-create-keys';
import { CreateRequestRecords1763700150000 } from './1763700150000-create-request-records';
import { CreateCatalogue1763700200000 } from './1763700200000-create-catalogue';
import { CreateCredentials1763700210000 } from './1763700210000-create-credentials';
import { CreateMoney1763700300000 } from './1763700300000-create-money';
import { CreateEscrow1763700310000 } from './1763700310000-create-escrow';
import { CreateIdempotentAnswers1763700320000 } from './1763700320000-create-idempotent-answers';
import { AddModelOverflow1763700400000 } from './1763700400000-add-model-overflow';
import { AddDroppedFields1763700410000 } from './1763700410000-add-dropped-fields';
import { AddLaneOrder1763700420000 } from './1763700420000-add-lane-order';
import { CreateKeptResponses1763700500000 } from './1763700500000-create-kept-responses';
import { AddPriceFees1763700510000 } from './1763700510000-add-price-fees';
import { KeepUnreadJournals1763700520000 } from './1763700520000-keep-unread-journals';
import { CreateUsageHours1763700521000 } from './1763700521000-create-usage-hours';
import { IndexRecordsByModel1763700522000 } from './1763700522000-index-records-by-model';
import { AddLaneRetries1763700530000 } from './1763700530000-add-lane-retries';
import { AddModelBounds1763700540000 } from './1763700540000-add-model-bounds';
import { CountRefusals1763700550000 } from './1763700550000-count-refusals';
import { CreateActivity1763800100000 } from './1763800100000-create-activity';
import { AddAdminView1763800110000 } from './1763800110000-add-admin-view';
import { CreateAccountTokens1763800200000 } from './1763800200000-create-account-tokens';
import { CreateLinkedIdentities1763800210000 } from './1763800210000-create-linked-identities';
import { SealWindows1763800300000 } from './1763800300000-seal-windows';
import {
  LoadFirstMoneyFunctions1763800310000,
  LoadMoneyFunctions1763800310000,
} from './1763800310000-load-money-functions';
import { AddKeyCreationToken1763800600000 } from './1763800600000-add-key-creation-token';
import { CreateUserSettings1763800610000 } from './1763800610000-create-user-settings';
import { CreatePersonalNotices1763800620000 } from './1763800620000-create-personal-notices';
import { AddRecordLabels1763800700000 } from './1763800700000-add-record-labels';
import { IndexRequestLog1763800701000 } from './1763800701000-index-request-log';
import { CreateConversations1763800800000 } from './1763800800000-create-conversations';
import { AddAdministrationOfPeople1763800900000 } from './1763800900000-add-administration-of-people';
import { CreatePromotions1763800910000 } from './1763800910000-create-promotions';
import { LetInvitationsGo1763800920000 } from './1763800920000-let-invitations-go';
import { AddModelPolicies1763801000000 } from './1763801000000-add-model-policies';
import { CreateIncidents1763801100000 } from './1763801100000-create-incidents';
import { CreateEngineSettings1763801110000 } from './1763801110000-create-engine-settings';
import { CreatePayments1763801200000 } from './1763801200000-create-payments';
import { CreateSecondFactor1763801300000 } from './1763801300000-create-second-factor';
import { LetPeopleSetTheAutorouter1763901000000 } from './1763901000000-let-people-set-the-autorouter';
import { CreateAutorouterState1763901100000 } from './1763901100000-create-autorouter-state';
import { KeepAutoDecisions1763901200000 } from './1763901200000-keep-auto-decisions';
import { CreateQuality1763902000000 } from './1763902000000-create-quality';
import { SealActivity1763903000000 } from './1763903000000-seal-activity';
import { AddKeyLimits1763904000000 } from './1763904000000-add-key-limits';
import { AddOrganisationMarkups1763904100000 } from './1763904100000-add-organisation-markups';
import { CreateCatalogueDrafts1763905000000 } from './1763905000000-create-catalogue-drafts';
import { CreateResellerDomains1763905100000 } from './1763905100000-create-reseller-domains';
import { CreatePasskeys1764010000000 } from './1764010000000-create-passkeys';
import { AddModelRetirement1764020000000 } from './1764020000000-add-model-retirement';
import { NameKeysOfFiles1764030000000 } from './1764030000000-name-keys-of-files';
import { CheckAuditChain1764030100000 } from './1764030100000-check-audit-chain';
import { KeepFailedRefunds1764030200000 } from './1764030200000-keep-failed-refunds';
import { RollUpUsage1764040000000 } from './1764040000000-roll-up-usage';
import { IndexActivityWords1764040100000 } from './1764040100000-index-activity-words';
import { IndexAutoDecisions1764050000000 } from './1764050000000-index-auto-decisions';
import { CreateAnswerFeedback1764060000000 } from './1764060000000-create-answer-feedback';
import { MarkPostings1764070000000 } from './1764070000000-mark-postings';
import { ReadTimesExactly1764080000000 } from './1764080000000-read-times-exactly';
import { KeepRefundOrders1764100000000 } from './1764100000000-keep-refund-orders';
import { KeepCardOfPayments1764100100000 } from './1764100100000-keep-card-of-payments';
import { NameHolders1764100200000 } from './1764100200000-name-holders';
import { KnowCustomersMode1764110000000 } from './1764110000000-know-customers-mode';
import { OpenQualityEnvelope1764130000000 } from './1764130000000-open-quality-envelope';
import { KeepChosenJudges1764130100000 } from './1764130100000-keep-chosen-judges';
import { IndexSamplesOfAKind1764140000000 } from './1764140000000-index-samples-of-a-kind';
import { CoverUsageHours1764200000000 } from './1764200000000-cover-usage-hours';
import { IndexFailovers1764200100000 } from './1764200100000-index-failovers';
import { LocateLabels1764200200000 } from './1764200200000-locate-labels';
import { RankUsageDays1764200300000 } from './1764200300000-rank-usage-days';
import { CreateRepeatingJobs1764300000000 } from './1764300000000-create-repeating-jobs';
import { FollowDisputes1764340000000 } from './1764340000000-follow-disputes';
import { EndPromotions1764340010000 } from './1764340010000-end-promotions';
import { AddVendorFacts1764360000000 } from './1764360000000-add-vendor-facts';
import { AddUsageParts1764360100000 } from './1764360100000-add-usage-parts';
import { KnowAddressesByOneForm1764700000000 } from './1764700000000-know-addresses-by-one-form';
import { PlaceConversations1764700010000 } from './1764700010000-place-conversations';
import { BoundCreditLimits1764700020000 } from './1764700020000-bound-credit-limits';
import { KeepHostsOfSessions1764700100000 } from './1764700100000-keep-hosts-of-sessions';
import { ProveResellerDomains1764700110000 } from './1764700110000-prove-reseller-domains';
import { NameModelsOfAnswers1764700200000 } from './1764700200000-name-models-of-answers';
import { KeepClientRequestIds1764700210000 } from './1764700210000-keep-client-request-ids';
import { IndexClientRequestIds1764700220000 } from './1764700220000-index-client-request-ids';
import { RecordLateSeals1764700230000 } from './1764700230000-record-late-seals';
import { KeepPaymentHolders1764700300000 } from './1764700300000-keep-payment-holders';
import { MarkAdminFixtures1764800300000 } from './1764800300000-mark-admin-fixtures';
import { PartBudgetsOfPeople1764800100000 } from './1764800100000-part-budgets-of-people';
import { OpenInvoiceAccounts1764800110000 } from './1764800110000-open-invoice-accounts';
import { ForbidContinuedStreams1764800500000 } from './1764800500000-forbid-continued-streams';
import { RestoreRevokedKeys1764800900100 } from './1764800900100-restore-revoked-keys';
import { CreateAlerts1764900003100 } from './1764900003100-create-alerts';
import { RecordSurcharges1764801000400 } from './1764801000400-record-surcharges';
import { KeepGateVerdicts1764801000100 } from './1764801000100-keep-gate-verdicts';
import { CreateTaps1764801000200 } from './1764801000200-create-taps';
import { PublishViews1764801000300 } from './1764801000300-publish-views';
import { CreateQuarantine1764900005100 } from './1764900005100-create-quarantine';
import { KnowClientCertificates1764900007100 } from './1764900007100-know-client-certificates';
import { TellContentToTelemetry1764900009110 } from './1764900009110-tell-content-to-telemetry';
import { NameThePepper1764900009200 } from './1764900009200-name-the-pepper';
import { ChooseUnknownFields1765000000100 } from './1765000000100-choose-unknown-fields';
import { RecordExtensionMigrations1765000200000 } from './1765000200000-record-extension-migrations';
import { FollowWalletHandovers1765000600000 } from './1765000600000-follow-wallet-handovers';
import { RecordExcess1765000700000 } from './1765000700000-record-excess';
import { RecordStoredIds1765000800000 } from './1765000800000-record-stored-ids';
import { ResumUsageByServedModel1765001000000 } from './1765001000000-resum-usage-by-served-model';
import { TakeOverPayments1765001300000 } from './1765001300000-take-over-payments';

/** In the order in which they run. */
export const migrations = [
  CreateRoles1763700000000,
  CreateIdentity1763700100000,
  CreateKeys1763700120000,
  CreateRequestRecords1763700150000,
  CreateCatalogue1763700200000,
  CreateCredentials1763700210000,
  CreateMoney1763700300000,
  CreateEscrow1763700310000,
  CreateIdempotentAnswers1763700320000,
  AddModelOverflow1763700400000,
  AddDroppedFields1763700410000,
  AddLaneOrder1763700420000,
  CreateKeptResponses1763700500000,
  AddPriceFees1763700510000,
  KeepUnreadJournals1763700520000,
  CreateUsageHours1763700521000,
  IndexRecordsByModel1763700522000,
  AddLaneRetries1763700530000,
  AddModelBounds1763700540000,
  CountRefusals1763700550000,
  CreateActivity1763800100000,
  AddAdminView1763800110000,
  CreateAccountTokens1763800200000,
  CreateLinkedIdentities1763800210000,
  SealWindows1763800300000,
  LoadFirstMoneyFunctions1763800310000,
  AddKeyCreationToken1763800600000,
  CreateUserSettings1763800610000,
  CreatePersonalNotices1763800620000,
  AddRecordLabels1763800700000,
  IndexRequestLog1763800701000,
  CreateConversations1763800800000,
  AddAdministrationOfPeople1763800900000,
  CreatePromotions1763800910000,
  LetInvitationsGo1763800920000,
  AddModelPolicies1763801000000,
  CreateIncidents1763801100000,
  CreateEngineSettings1763801110000,
  CreatePayments1763801200000,
  CreateSecondFactor1763801300000,
  LetPeopleSetTheAutorouter1763901000000,
  CreateAutorouterState1763901100000,
  KeepAutoDecisions1763901200000,
  CreateQuality1763902000000,
  SealActivity1763903000000,
  AddKeyLimits1763904000000,
  AddOrganisationMarkups1763904100000,
  CreateCatalogueDrafts1763905000000,
  CreateResellerDomains1763905100000,
  CreatePasskeys1764010000000,
  AddModelRetirement1764020000000,
  NameKeysOfFiles1764030000000,
  CheckAuditChain1764030100000,
  KeepFailedRefunds1764030200000,
  RollUpUsage1764040000000,
  IndexActivityWords1764040100000,
  IndexAutoDecisions1764050000000,
  CreateAnswerFeedback1764060000000,
  MarkPostings1764070000000,
  ReadTimesExactly1764080000000,
  KeepRefundOrders1764100000000,
  KeepCardOfPayments1764100100000,
  NameHolders1764100200000,
  KnowCustomersMode1764110000000,
  OpenQualityEnvelope1764130000000,
  KeepChosenJudges1764130100000,
  IndexSamplesOfAKind1764140000000,
  CoverUsageHours1764200000000,
  IndexFailovers1764200100000,
  LocateLabels1764200200000,
  RankUsageDays1764200300000,
  CreateRepeatingJobs1764300000000,
  FollowDisputes1764340000000,
  EndPromotions1764340010000,
  AddVendorFacts1764360000000,
  AddUsageParts1764360100000,
  KnowAddressesByOneForm1764700000000,
  PlaceConversations1764700010000,
  BoundCreditLimits1764700020000,
  KeepHostsOfSessions1764700100000,
  ProveResellerDomains1764700110000,
  NameModelsOfAnswers1764700200000,
  KeepClientRequestIds1764700210000,
  IndexClientRequestIds1764700220000,
  RecordLateSeals1764700230000,
  KeepPaymentHolders1764700300000,
  MarkAdminFixtures1764800300000,
  PartBudgetsOfPeople1764800100000,
  OpenInvoiceAccounts1764800110000,
  ForbidContinuedStreams1764800500000,
  RestoreRevokedKeys1764800900100,
  RecordSurcharges1764801000400,
  KeepGateVerdicts1764801000100,
  CreateTaps1764801000200,
  PublishViews1764801000300,
  CreateAlerts1764900003100,
  CreateQuarantine1764900005100,
  KnowClientCertificates1764900007100,
  TellContentToTelemetry1764900009110,
  NameThePepper1764900009200,
  ChooseUnknownFields1765000000100,
  RecordExtensionMigrations1765000200000,
  FollowWalletHandovers1765000600000,
  RecordExcess1765000700000,
  RecordStoredIds1765000800000,
  ResumUsageByServedModel1765001000000,
  TakeOverPayments1765001300000,
  // New ones go above this line; what takes away goes below it, a release later.
  LoadMoneyFunctions1763800310000,
];
