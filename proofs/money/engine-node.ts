import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { type Hold, type LimitRef, MoneyEngine, PostgresMoneyStore } from '#product/billing';
import { Logger } from '#inside/boot/packages';
import { type Fault, monotonicMs } from '#product/kernel';
import { applicationUrl, Database, Notifications } from '#product/platform';
import type { MoneyCallOutcome, MoneyCall, FromNode, ToNode } from './node-handle';
import { ordinaryOutcome } from './record';

/** Child process: the bundled money engine of one node, with a timer in place of a supplier. */
async function main(): Promise<void> {
  Logger.overrideLogger(process.env['PROOF_VERBOSE'] ? ['error', 'warn', 'log'] : false);
  const [url = '', dataFolder = ''] = process.argv.slice(2);
  const source = await new DataSource({
    type: 'postgres',
    url: applicationUrl(url),
    poolSize: 6,
    connectTimeoutMS: 3_000,
  }).initialize();
  const notifications = new Notifications({ url });
  await notifications.start();
  const engine = new MoneyEngine(new PostgresMoneyStore(new Database(source)), notifications, {
    dataFolder,
    acknowledge: 'journal',
  });
  await engine.start();

  process.on('message', (message: ToNode) => {
    if (message.kind === 'call')
      void serve(engine, message.call).then((answer) => send({ kind: 'answer', answer }));
    else if (message.kind === 'pending') send({ kind: 'pending', count: engine.pending });
    else void stop();
  });
  // A node ends together with the proof that started it.
  process.on('disconnect', () => process.exit(0));
  send({ kind: 'ready' });

  async function stop(): Promise<void> {
    await engine.stop();
    await notifications.onApplicationShutdown();
    await source.destroy();
    process.exit(0);
  }
}

async function serve(engine: MoneyEngine, call: MoneyCall): Promise<MoneyCallOutcome> {
  const startedAt = monotonicMs();
  const refs: LimitRef[] = [
    { kind: 'key', id: call.keyId },
    { kind: 'wallet', id: call.walletId },
    ...(call.userId === undefined
      ? []
      : (['user', 'user_budget'] as const).map((kind) => ({ kind, id: call.userId! }))),
    ...(call.keyModelId === undefined ? [] : [{ kind: 'key_model' as const, id: call.keyModelId }]),
  ];
  const { requestId } = call;
  let hold: Hold;
  try {
    // Same rule as the gateway: an unbounded request holds what is left, but at least its cost.
    const minHold = BigInt(call.unbounded === true ? call.cost : call.bound);
    hold = await engine.escrow.hold({ requestId, amount: BigInt(call.bound), minAmount: minHold, refs });
  } catch (error) {
    const { code, options } = error as Fault;
    return {
      requestId,
      code: code ?? String(error),
      retryAfterSeconds: options?.retryAfterSeconds ?? null,
      heldAfterMs: monotonicMs() - startedAt,
    };
  }
  const heldAfterMs = monotonicMs() - startedAt;
  await delay(call.answerMs);
  try {
    const { keyId, walletId, answerMs } = call;
    await hold.settle(
      ordinaryOutcome({
        costNano: BigInt(call.cost),
        keyId,
        walletId,
        userId: call.userId ?? null,
        keyModelId: hold.keyModelId,
        latencyMs: Math.round(answerMs),
      }),
    );
  } catch (error) {
    return { requestId, code: (error as Fault).code, retryAfterSeconds: null, heldAfterMs };
  }
  return { requestId, code: 'ok', retryAfterSeconds: null, heldAfterMs };
}

function send(message: FromNode): void {
  if (process.connected) process.send?.(message, () => undefined);
}

void main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
