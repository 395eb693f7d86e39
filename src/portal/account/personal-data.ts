import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ActivityQuery, UsageQuery } from '../../audit';
import { type Payment, Payments } from '../../billing';
import {
  type ConversationHead,
  ConversationMessages,
  ConversationsService,
  type ConversationMessage,
} from '../../chat';
import { LegalAcceptance, OwnAccountService, Passkeys, type UserAccount } from '../../identity';
import { nanoPerCent, type Scope, toJsonNumber } from '../../kernel';
import { KeyRegister, presentPortalKey } from '../../keys';
import { everyRow } from '../../platform';

const MAX_KEYS = 1_000;
const MAX_ENTRIES = 10_000;
const MAX_PAYMENTS = 10_000;
/** The maximum number of conversations an account can have. */
const MAX_CONVERSATIONS = 5_000;
const PAGE_SIZE = 200;

/** Collects all data stored about a user. Lists that exceed their limit are marked as truncated. */
@Injectable()
export class PersonalData {
  constructor(
    @InjectRepository(LegalAcceptance) private readonly acceptances: Repository<LegalAcceptance>,
    private readonly accounts: OwnAccountService,
    private readonly passkeys: Passkeys,
    private readonly keys: KeyRegister,
    private readonly entries: ActivityQuery,
    private readonly usage: UsageQuery,
    private readonly payments: Payments,
    private readonly conversations: ConversationsService,
    private readonly messages: ConversationMessages,
  ) {}

  /** Returns everything except the conversations. */
  async collectRecords(account: UserAccount) {
    const userId = account.id;
    const scope: Scope = { kind: 'user', userId };
    const keys = await this.keys.list(scope, { limit: MAX_KEYS });
    const acceptances = await this.acceptances.find({ where: { userId }, order: { acceptedAt: 'ASC' } });
    const activity = await Array.fromAsync(this.entries.all(scope, { limit: MAX_ENTRIES + 1 }));
    const payments = await Array.fromAsync(
      everyRow(MAX_PAYMENTS + 1, PAGE_SIZE, (page) => this.payments.page(userId, page)),
    );
    return {
      exported_at: new Date().toISOString(),
      account: presentAccount(account),
      sign_in_providers: await this.accounts.identities(userId),
      passkeys: (await this.passkeys.list(userId)).map(({ publicId, name, createdAt, lastUsedAt }) => ({
        id: publicId,
        name,
        created_at: createdAt,
        last_used_at: lastUsedAt,
      })),
      legal_acceptances: acceptances.map(({ version, acceptedAt }) => ({ version, accepted_at: acceptedAt })),
      sessions: (await this.accounts.sessions(userId)).map(({ publicId, ...session }) => ({
        id: publicId,
        ...session,
      })),
      keys: keys.rows.map(presentPortalKey),
      usage_by_month: await this.months(scope, account.createdAt),
      payments: payments.slice(0, MAX_PAYMENTS).map(presentPayment),
      activity: activity.slice(0, MAX_ENTRIES),
      truncated: {
        keys: keys.next !== null,
        payments: payments.length > MAX_PAYMENTS,
        activity: activity.length > MAX_ENTRIES,
      },
    };
  }

  /** Streams the records and then each conversation as one JSON object, never holding a conversation in memory. */
  async *file(records: object, userId: number): AsyncGenerator<string> {
    yield `${JSON.stringify(records).slice(0, -1)},"conversations":[`;
    const heads = everyRow(MAX_CONVERSATIONS, PAGE_SIZE, (page) => this.conversations.list(userId, page));
    let separator = '';
    for await (const head of heads) {
      yield `${separator}${JSON.stringify(presentConversation(head)).slice(0, -1)},"newest_messages_first":[`;
      yield* this.messagesOf(head.id);
      yield ']}';
      separator = ',';
    }
    yield ']}\n';
  }

  private async *messagesOf(conversationId: number): AsyncGenerator<string> {
    let separator = '';
    for await (const message of this.messages.listAll(conversationId)) {
      const images =
        message.attachments.length === 0 ? [] : await this.messages.attachmentsOf(conversationId, message.id);
      const attachments = images.map(({ name, mediaType, content }) => ({
        name,
        type: mediaType,
        data: content.toString('base64'),
      }));
      yield separator + JSON.stringify({ ...presentMessage(message), attachments });
      separator = ',';
    }
  }

  private async months(scope: Scope, since: Date) {
    const query = { from: since, to: new Date(), bucket: 'month', zone: 'UTC' } as const;
    const { borders, buckets } = await this.usage.read(scope, query);
    return borders.flatMap((from, index) => {
      const { costNano, ...sums } = buckets[index] ?? { costNano: 0n };
      return [{ from: from.toISOString(), ...sums, cost_usd: toJsonNumber(costNano) }];
    });
  }
}

const presentAccount = (account: UserAccount) => ({
  id: account.id,
  email: account.email,
  display_name: account.displayName,
  role: account.role,
  status: account.status,
  organisation_id: account.organisationId,
  department_id: account.departmentId,
  language: account.preferredLanguage,
  time_zone: account.timeZone,
  created_at: account.createdAt.toISOString(),
});

const dollars = (cents: bigint): number => toJsonNumber(cents * nanoPerCent);

const presentPayment = (payment: Payment) => ({
  id: payment.publicId,
  kind: payment.kind,
  status: payment.status,
  currency: payment.currency,
  credit: dollars(payment.netCents),
  fee: dollars(payment.feeCents),
  charged: dollars(payment.grossCents),
  refunded: dollars(payment.refundedCents),
  created_at: payment.createdAt.toISOString(),
  paid_at: payment.paidAt?.toISOString() ?? null,
});

const presentConversation = ({ id, title, model, createdAt, updatedAt, costNano }: ConversationHead) => ({
  id,
  title,
  model,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt.toISOString(),
  cost_usd: toJsonNumber(costNano),
});

const presentMessage = ({
  role,
  model,
  state,
  text,
  createdAt,
  requestId,
  costNano,
}: ConversationMessage) => ({
  role,
  model,
  state,
  text,
  created_at: createdAt.toISOString(),
  request_id: requestId,
  cost_usd: costNano === null ? null : toJsonNumber(costNano),
});
