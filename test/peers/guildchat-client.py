"""A foreign client: answers each message that names it, reacts, edits, and ends when it is told to. `guildchat-client.py <root> <token>`"""
import asyncio
import logging
import sys

import discord
import yarl

root, token = sys.argv[1:3]
discord.http.Route.BASE = root + "/v10"
discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(root.replace("http", "ws", 1).removesuffix("/api"))
logging.basicConfig(level=logging.ERROR)

intents = discord.Intents.default()
intents.message_content = True
client = discord.Client(intents=intents)


@client.event
async def on_ready():
    print("ready", client.user.name, [guild.name for guild in client.guilds], flush=True)


@client.event
async def on_resumed():
    print("resumed", flush=True)


@client.event
async def on_message(message):
    if message.author.id == client.user.id:
        return
    if message.content == "end":
        await client.close()
        return
    await message.add_reaction("👀")
    files = [await attachment.read() for attachment in message.attachments]
    sent = await message.reply(f"echo {message.content} {[len(data) for data in files]}", mention_author=False)
    await sent.edit(content=sent.content + " (edited)")
    print("answered", message.content, flush=True)


async def main():
    async with client:
        await client.start(token)


asyncio.run(main())
