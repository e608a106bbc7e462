/** The route that a platform calls. The adapter decides what a call means, and whether it is allowed. */
import type { FastifyInstance } from "fastify";

export interface Webhook {
  path: string;
  /** Resolves with the HTTP status to answer, after the durable write. Rejecting answers 5xx, and the platform calls again. */
  handle(headers: Record<string, string | string[] | undefined>, body: unknown): Promise<number>;
}

export function addWebhook(app: FastifyInstance, { path, handle }: Webhook): void {
  app.post(path, async (request, reply) => {
    const status = await handle(request.headers, request.body);
    return reply.code(status).send({});
  });
}
