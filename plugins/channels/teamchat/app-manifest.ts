/** Scopes of the bot, each with the loss without it. */
export const SCOPES: Readonly<Record<string, string>> = {
  "app_mentions:read": "hears nobody who mentions it in a channel",
  "channels:history": "hears nothing else in public channels, and reads nothing there that was missed",
  "channels:read": "does not know its public channels after a restart",
  "chat:write": "cannot answer",
  "files:read": "sees no pictures and files",
  "files:write": "cannot send files",
  "groups:history": "hears nothing in private channels",
  "groups:read": "does not know its private channels after a restart",
  "im:history": "hears no direct messages",
  "im:read": "does not know its direct messages after a restart",
  "mpim:history": "hears nothing in group conversations",
  "mpim:read": "does not know its group conversations after a restart",
  "reactions:write": "puts no emoji on what it took",
  "users:read": "calls people by their ids",
};

const EVENTS = ["app_mention", "message.channels", "message.groups", "message.im", "message.mpim"];

/** The app as the platform's page "From a manifest" takes it: scopes, events, buttons and socket mode in one paste. */
export function appManifest(name: string): string {
  const manifest = {
    display_information: { name },
    features: {
      app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: false },
      bot_user: { display_name: name, always_online: true },
    },
    oauth_config: { scopes: { bot: Object.keys(SCOPES) } },
    settings: {
      event_subscriptions: { bot_events: EVENTS },
      interactivity: { is_enabled: true },
      org_deploy_enabled: false,
      socket_mode_enabled: true,
      token_rotation_enabled: false,
    },
  };
  return JSON.stringify(manifest, null, 2);
}
